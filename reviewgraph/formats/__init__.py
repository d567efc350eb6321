"""Tables in files: one module a concern, from bytes to columns of text.

``encodings`` bytes to text, ``headers`` which column is which, ``delimited`` CSV and its kin line by line, ``arrow``
large CSV and Parquet, ``workbooks`` and ``sheets`` spreadsheets, ``archives`` zip and folders, ``trees`` JSON and XML,
``grids`` tables in memory, ``limits`` the most of everything, ``values`` what a cell means, ``problems`` what is wrong
where, ``opening`` opens any of them, ``systems`` what conference systems mean by them, ``side`` the tables that stand
beside the reviews.
"""
