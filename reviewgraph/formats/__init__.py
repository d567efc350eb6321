"""Tables in files: one module a concern, from bytes to columns of text.

``encodings`` bytes to text, ``headers`` which column is which, ``delimited`` CSV and its kin line by line, ``arrow``
large CSV and Parquet, ``values`` what a cell means, ``problems`` what is wrong where, ``tables`` opens any of them,
``side`` the tables that stand beside the reviews.
"""
