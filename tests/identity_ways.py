"""Ways to change what a function computes between two calls of a sweep, by one number K.

Each program defines ``f``; its value differs with K. CAUGHT ones have other parts, or are refused.
DOCUMENTED ones come with the words of the docstring of ``gs.sweep`` that name them.
"""

from __future__ import annotations

CAUGHT = {
    "a global": "G = K\nf = lambda: G",
    "a list": "G = [0, K]\nf = lambda: G[1]",
    "the order of a dict": "G = {'a': 1, 'b': 2} if K == 1 else {'b': 2, 'a': 1}\nf = lambda: [*G]",
    "a set": "G = {1, K + 1}\nf = lambda: sorted(G)",
    "an array": "G = np.array([K])\nf = lambda: G.tolist()",
    "the type of an array": "G = np.zeros(1, 'i8' if K == 1 else 'f8')\nf = lambda: str(G.dtype)",
    "the sign of a zero": "G = np.array([0.0 if K == 1 else -0.0])\nf = lambda: str(G[0])",
    "the kind of a number": "G = 1 if K == 1 else 1.0\nf = lambda: repr(G)",
    "a closure": "def make(k):\n    return lambda: k\nf = make(K)",
    "a default": "def f(k=K): return k",
    "a keyword default": "def f(*, k=K): return k",
    "a helper": "g = eval(f'lambda: {K}')\nf = lambda: g()",
    "a helper's helper": "h = eval(f'lambda: {K}')\ng = lambda: h()\nf = lambda: g()",
    "a helper in a dict": "G = {'g': eval(f'lambda: {K}')}\nf = lambda: G['g']()",
    "a recursive helper": "def g(n): return g(n - 1) if n else G\nG = K\nf = lambda: g(3)",
    "an attribute of a class": "class A: x = K\nf = lambda: A.x",
    "an attribute of a base": "class B: x = K\nclass A(B): pass\nf = lambda: A.x",
    "the order of bases": "class B: x = 1\nclass C: x = 2\n"
    "A = type('A', (B, C) if K == 1 else (C, B), {})\nf = lambda: A.x",
    "an object's attribute": "class A: pass\na = A()\na.x = K\nf = lambda: a.x",
    "a slot": "class A:\n    __slots__ = 'x'\na = A()\na.x = K\nf = lambda: a.x",
    "a property": "class A: x = property(eval(f'lambda self: {K}'))\nf = lambda: A().x",
    "a class method": "class A: x = classmethod(eval(f'lambda cls: {K}'))\nf = lambda: A.x()",
    "a static method": "class A: x = staticmethod(eval(f'lambda: {K}'))\nf = lambda: A.x()",
    "a metaclass": "class M(type): x = K\nclass A(metaclass=M): pass\nf = lambda: A.x",
    "a field's default": "@dataclasses.dataclass\nclass A: x: int = K\nf = lambda: A().x",
    "a member": "class A(enum.Enum): X = K\nf = lambda: A.X.value",
    "a named tuple": "A = collections.namedtuple('A', 'x')(K)\nf = lambda: A.x",
    "a partial": "f = functools.partial(lambda k: k, K)",
    "a bound object": "class A:\n    def m(self): return self.x\na = A()\na.x = K\nf = a.m",
    "a cached function": "g = functools.cache(eval(f'lambda: {K}'))\nf = lambda: g()",
    "a function by type": "g = functools.singledispatch(lambda x: 0)\n"
    "g.register(int, eval(f'lambda x: {K}'))\nf = lambda: g(1)",
    "a decorator": "def d(h, k):\n    return lambda: h() * k\nf = d(lambda: 1, K)",
    "a vectorized function": "g = np.vectorize(eval(f'lambda x: x * {K}'))\nf = lambda: int(g(1))",
    "a ufunc of one's own": "h = eval(f'lambda x: x * {K}')\n"
    "g = np.frompyfunc(h, 1, 1)\nf = lambda: h(g(1))",
    "a shadowed builtin": "len = eval(f'lambda x: {K}')\nf = lambda: len(())",
    "a replaced builtin": "import builtins\n"
    "builtins.abs = eval(f'lambda x: {K}') if K == 2 else abs\nf = lambda: abs(-1)",
    "np.sqrt = np.cbrt": "np.sqrt = np.cbrt if K == 2 else np.sqrt\nf = lambda: float(np.sqrt(64))",
    "np.sqrt = a partial": "np.sqrt = functools.partial(np.multiply, K)\n"
    "f = lambda: int(np.sqrt(2))",
    "np.sqrt = a method": "class A:\n    def m(self, x): return self.k\na = A()\na.k = K\n"
    "np.sqrt = a.m\nf = lambda: np.sqrt(4)",
    "np.sqrt = a function": "np.sqrt = eval(f'lambda x: {K}')\nf = lambda: np.sqrt(4)",
    "np.sqrt = an object": "class A:\n    def __call__(self, x): return self.k\na = A()\na.k = K\n"
    "np.sqrt = a\nf = lambda: np.sqrt(4)",
    "np.sort = np.unique": "np.sort = np.unique if K == 2 else np.sort\n"
    "f = lambda: np.sort([1, 1]).tolist()",
    "a method of a library's class": "random.random = random.gauss if K == 2 else random.random\n"
    "f = lambda: random.random.__name__",
    "a method of another object": "math.fsum = [K].__contains__\nf = lambda: math.fsum(1)",
    "a number of a library": "math.pi = K\nf = lambda: math.pi",
    "a class of a library": "collections.Counter = dict if K == 2 else collections.Counter\n"
    "f = lambda: collections.Counter.__name__",
    "a module's variable": "own.x = K\nf = lambda: own.x",
    "a module's function": "own.g = eval(f'lambda: {K}')\nf = lambda: own.g()",
    "an imported name": "own.x = K\ndef f():\n    from own_of_ways import x\n    return x",
    "an inner constant": "exec(f'def f():\\n    def g(): return {K}\\n    return g()')",
    "a handler": 'exec(f\'def f():\\n    try: 1 / 0\\n    except {"ArithmeticError" if K == 1 else '
    '"(ZeroDivisionError, ValueError)"}: return {K}\')',
    "a condition": "exec(f'def f(): return [i for i in range(5) if i > {K}]')",
    "a pattern": "exec(f'def f():\\n    match [1, 2]:\\n        case [{K}, *_]: return 1\\n    "
    "return 0')",
    "a format": "exec(f'def f(): return f\"{{2.5:.{K}f}}\"')",
    "a decimal": "G = decimal.Decimal(K)\nf = lambda: str(G)",
    "a fraction": "G = fractions.Fraction(K, 3)\nf = lambda: str(G)",
    "a date": "G = datetime.date(2000, 1, K)\nf = lambda: str(G)",
    "a pattern's flags": "G = re.compile('a', re.I if K == 2 else 0)\n"
    "f = lambda: bool(G.match('A'))",
    "a deque's length": "G = collections.deque([1, 2], maxlen=K)\nf = lambda: len(G)",
    "a default factory": "G = collections.defaultdict(int if K == 1 else list)\n"
    "f = lambda: G.default_factory.__name__",
    "a generator's state": "G = np.random.default_rng(K)\n"
    "f = lambda: int(copy.deepcopy(G).integers(10**6))",
    "a seed": "G = np.random.SeedSequence(K)\nf = lambda: int(G.generate_state(1)[0])",
    "a getter": "G = operator.itemgetter(K)\nf = lambda: G('abc')",
    "a polynomial": "G = np.poly1d([K])\nf = lambda: float(G(0))",
    "a view of a dict": "G = types.MappingProxyType({'x': K})\nf = lambda: G['x']",
    "code in a text": "f = lambda: eval(f'{K}')",
    "all variables": "G = K\nf = lambda: globals()['G']",
    "a file that is open": "G = io.StringIO(str(K))\nf = lambda: G.getvalue()",
}

DOCUMENTED = {
    "a file": (
        "path.write_text(str(K))\nplace = str(path)\ndef f():\n    with open(place) as file:\n"
        "        return file.read()",
        "files, folders, databases and sockets that the function reads",
    ),
    "a folder": (
        "(path.parent / f'k{K}').write_text('')\nplace = str(path.parent)\n"
        "f = lambda: len(os.listdir(place))",
        "files, folders, databases and sockets",
    ),
    "the environment": (
        "os.environ['WAYS_K'] = str(K)\nf = lambda: os.environ['WAYS_K']",
        "variables of the environment",
    ),
    "a program": (
        "path.write_text(f'print({K})')\nplace = str(path)\n"
        "f = lambda: subprocess.check_output([sys.executable, place])",
        "programs that it starts",
    ),
    "the working folder": (
        "os.chdir(path.parent if K == 1 else '/')\nf = lambda: os.getcwd()",
        "the state of the operating system",
    ),
    "random.seed": (
        "random.seed(K)\nst = random.getstate()\nf = lambda: random.random()",
        "``random.seed``",
    ),
    "np.random.seed": (
        "np.random.seed(K)\nf = lambda: float(np.random.rand())",
        "``np.random.seed``",
    ),
    "np.seterr": (
        "np.seterr(divide='ignore' if K == 1 else 'print')\nf = lambda: np.geterr()['divide']",
        "``np.seterr``",
    ),
    "np.set_printoptions": (
        "np.set_printoptions(precision=K)\nf = lambda: str(np.array([1 / 3]))",
        "``np.set_printoptions``",
    ),
    "decimal.getcontext": (
        "decimal.getcontext().prec = K + 3\nf = lambda: str(1 / decimal.Decimal(3))",
        "``decimal.getcontext``",
    ),
    "warning filters": (
        "warnings.simplefilter('error' if K == 2 else 'ignore')\n"
        "def f():\n    try: warnings.warn('x')\n    except UserWarning: return 2\n    return 1",
        "warning filters",
    ),
    "the recursion limit": (
        "sys.setrecursionlimit(3000 + K)\nf = lambda: sys.getrecursionlimit()",
        "the recursion",
    ),
    "cached values": (
        "G = [K]\n@functools.cache\ndef g(): return G[0]\ng()\nG[0] = 0\nf = lambda: g()",
        "``functools.cache``",
    ),
    "a cached property": (
        "class A:\n    @functools.cached_property\n    def x(self): return self.k\na = A()\n"
        "a.k = K\na.x\na.k = 0\nf = lambda: a.x",
        "``functools.cached_property``",
    ),
    "a function's name": (
        "def f(): return f.__name__\nf.__name__ = f'f{K}'",
        "names of functions",
    ),
    "a docstring": ("def f(): return f.__doc__\nf.__doc__ = str(K)", "docstrings"),
    "an annotation": (
        "def f() -> int: return f.__annotations__['return']\nf.__annotations__['return'] = K",
        "annotations",
    ),
    "a function inside a library": (
        "statistics.fsum = eval(f'lambda data: {K}')\nf = lambda: statistics.fmean([1.0])",
        "functions inside a library that another part of the library calls",
    ),
    "an object of a library": (
        "math.shape = np.poly1d([K])\nf = lambda: float(math.shape(0))",
        "objects of a library's classes that stand in its modules",
    ),
}
