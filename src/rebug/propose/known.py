"""What everybody knows of Python's names: usual aliases, members of the standard library, names of distributions."""

from __future__ import annotations

import re
import sys

ALIASES = {
    "np": "import numpy as np",
    "pd": "import pandas as pd",
    "pl": "import polars as pl",
    "plt": "import matplotlib.pyplot as plt",
    "mpl": "import matplotlib as mpl",
    "sns": "import seaborn as sns",
    "tf": "import tensorflow as tf",
    "nx": "import networkx as nx",
    "xr": "import xarray as xr",
    "sp": "import sympy as sp",
    "sa": "import sqlalchemy as sa",
    "nn": "from torch import nn",
    "dt": "import datetime as dt",
    "ET": "import xml.etree.ElementTree as ET",
    "etree": "from lxml import etree",
    "mp": "import multiprocessing as mp",
    "osp": "import os.path as osp",
    "mock": "from unittest import mock",
    "tk": "import tkinter as tk",
    "pa": "import pyarrow as pa",
    "st": "from hypothesis import strategies as st",
}

_MEMBERS = {
    "abc": "ABC ABCMeta abstractmethod",
    "argparse": "ArgumentParser Namespace",
    "asyncio": "StreamReader StreamWriter create_task get_event_loop get_running_loop new_event_loop wait_for",
    "base64": "b64decode b64encode",
    "collections": "ChainMap Counter OrderedDict UserDict UserList UserString defaultdict deque namedtuple",
    "collections.abc": "AsyncGenerator AsyncIterator Awaitable Callable Coroutine Generator Hashable ItemsView "
    "Iterable Iterator KeysView Mapping MutableMapping MutableSequence Sequence ValuesView",
    "concurrent.futures": "ProcessPoolExecutor ThreadPoolExecutor as_completed",
    "contextlib": "AsyncExitStack ExitStack asynccontextmanager closing contextmanager nullcontext redirect_stderr "
    "redirect_stdout suppress",
    "contextvars": "ContextVar copy_context",
    "copy": "deepcopy",
    "ctypes": "c_char_p c_int",
    "dataclasses": "asdict dataclass field fields is_dataclass replace",
    "datetime": "date datetime time timedelta timezone tzinfo",
    "decimal": "Decimal ROUND_HALF_UP getcontext localcontext",
    "enum": "Enum Flag IntEnum IntFlag StrEnum auto",
    "email.message": "EmailMessage",
    "fractions": "Fraction",
    "functools": "cache cached_property lru_cache partial partialmethod reduce singledispatch total_ordering wraps",
    "hashlib": "md5 sha1 sha256",
    "http.server": "BaseHTTPRequestHandler HTTPServer SimpleHTTPRequestHandler ThreadingHTTPServer",
    "importlib": "import_module reload",
    "io": "BytesIO StringIO TextIOWrapper",
    "ipaddress": "IPv4Address IPv4Network IPv6Address IPv6Network ip_address ip_network",
    "itertools": "accumulate chain combinations count cycle groupby islice permutations product repeat tee zip_longest",
    "json": "JSONDecodeError JSONDecoder JSONEncoder",
    "logging": "getLogger basicConfig StreamHandler FileHandler",
    "math": "ceil floor inf isclose isnan nan pi sqrt",
    "multiprocessing": "Process Pool",
    "operator": "attrgetter itemgetter methodcaller",
    "os.path": "basename dirname exists join",
    "pathlib": "Path PosixPath PurePath PurePosixPath PureWindowsPath",
    "pprint": "pformat pprint",
    "queue": "Empty Queue SimpleQueue",
    "random": "choice randint shuffle",
    "shutil": "copyfile rmtree which",
    "string": "Template ascii_letters digits",
    "subprocess": "PIPE Popen check_call check_output",
    "tempfile": "NamedTemporaryFile SpooledTemporaryFile TemporaryDirectory TemporaryFile mkdtemp mkstemp",
    "textwrap": "dedent indent",
    "threading": "Barrier Condition Event Lock RLock Semaphore Thread Timer",
    "time": "monotonic perf_counter sleep strftime",
    "types": "MappingProxyType ModuleType SimpleNamespace",
    "typing": "Annotated Any ClassVar Dict Final ForwardRef FrozenSet Generic List Literal NamedTuple NewType NoReturn "
    "Optional Protocol Set Tuple Type TypeAlias TypeVar TypedDict Union cast get_args get_type_hints overload "
    "runtime_checkable TYPE_CHECKING Self ParamSpec",
    "unittest": "IsolatedAsyncioTestCase TestCase",
    "unittest.mock": "ANY AsyncMock MagicMock Mock patch",
    "urllib.parse": "parse_qs quote unquote urlencode urljoin urlparse urlsplit urlunparse",
    "urllib.request": "Request urlopen",
    "uuid": "UUID uuid1 uuid4",
    "warnings": "catch_warnings warn",
    "weakref": "WeakKeyDictionary WeakSet WeakValueDictionary finalize",
    "xml.etree.ElementTree": "ElementTree fromstring tostring",
    "zoneinfo": "ZoneInfo",
}

MEMBERS = {name: module for module, names in _MEMBERS.items() for name in names.split()}
"""Names of the standard library that snippets use without their import: name → module."""

_THIRD_PARTY = {
    "attrs": "define frozen mutable",
    "django.db": "models",
    "django.http": "HttpResponse JsonResponse",
    "fastapi": "APIRouter Depends FastAPI HTTPException",
    "flask": "Blueprint Flask jsonify render_template request url_for",
    "hypothesis": "given",
    "pandas": "DataFrame Series",
    "pydantic": "BaseModel Field ValidationError field_validator model_validator",
    "sqlalchemy": "Column ForeignKey Integer MetaData String Table create_engine select",
    "sqlalchemy.orm": "DeclarativeBase Mapped Session declarative_base mapped_column relationship sessionmaker",
    "starlette.applications": "Starlette",
    "starlette.responses": "JSONResponse PlainTextResponse",
    "starlette.routing": "Route",
    "typing_extensions": "NotRequired Required TypeAliasType Unpack",
}
THIRD_PARTY = {name: module for module, names in _THIRD_PARTY.items() for name in names.split()}
"""Names that snippets use of widely used distributions without their import: name → module."""

_DISTRIBUTIONS = {
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "Crypto": "pycryptodome",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "django": "Django",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "fitz": "PyMuPDF",
    "git": "GitPython",
    "google": "protobuf",
    "jose": "python-jose",
    "jwt": "PyJWT",
    "ldap": "python-ldap",
    "magic": "python-magic",
    "mpl_toolkits": "matplotlib",
    "multipart": "python-multipart",
    "MySQLdb": "mysqlclient",
    "OpenSSL": "pyOpenSSL",
    "PIL": "Pillow",
    "pkg_resources": "setuptools<81",
    "psycopg2": "psycopg2-binary",
    "pytest_django": "pytest-django",
    "rest_framework": "djangorestframework",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "slugify": "python-slugify",
    "socks": "PySocks",
    "usb": "pyusb",
    "websocket": "websocket-client",
    "win32api": "",
    "wx": "wxPython",
    "yaml": "PyYAML",
    "zmq": "pyzmq",
}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}\Z")


def is_stdlib(module: str) -> bool:
    """Whether the top-level name of a dotted module is one of the standard library's."""
    return module.partition(".")[0] in sys.stdlib_module_names


def distribution_for(module: str) -> str:
    """The distribution that most likely provides a top-level module; "" when no name can be given."""
    top = module.partition(".")[0]
    if top in _DISTRIBUTIONS:
        return _DISTRIBUTIONS[top]
    if is_stdlib(top) or not _NAME.match(top):
        return ""
    return top.replace("_", "-").lower()
