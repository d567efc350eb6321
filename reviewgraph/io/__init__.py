"""Reviews from files, labels and tables in addition to them, rules, and exchange with other graph libraries."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
