"""Attempts to get out of a sandbox, or to take more than is given: each gives "escaped" if it succeeded.

`@FILE` is a file with a secret, `@NEW` a path where nothing is yet, `@PORT` a port that somebody listens on.
"""

from __future__ import annotations

PYTHON = {
    # files
    "open a file": "open('@FILE').read()",
    "open a file to write": "open('@NEW', 'w').write('x')",
    "pathlib": "import pathlib\npathlib.Path('@FILE').read_text()",
    "pathlib writes": "import pathlib\npathlib.Path('@NEW').write_text('x')",
    "pathlib lists": "import pathlib\n[str(one) for one in pathlib.Path('/').iterdir()]",
    "os.listdir": "import os\nos.listdir('/')",
    "os.open": "import os\nos.read(os.open('@FILE', 0), 100)",
    "walk up": "open('../../../../..@FILE').read()",
    "own source": "open(__file__).read()",
    "proc": "open('/proc/self/environ').read()",
    "tempfile": "import tempfile\ntempfile.mktemp()",
    "remove": "import os\nos.remove('@FILE')",
    # environment and processes
    "environ": "import os\nreturn os.environ['PATH']",
    "getenv": "import os\nreturn os.getenv('PATH')",
    "system": "import os\nos.system('touch @NEW')",
    "subprocess": "import subprocess\nsubprocess.run(['touch', '@NEW'])",
    "fork": "import os\nos.fork()",
    "kill": "import os\nos.kill(1, 9)",
    "exit": "import sys\nsys.exit(3)",
    "os._exit": "import os\nos._exit(3)",
    "signal": "import signal\nsignal.alarm(1)",
    "SystemExit": "raise SystemExit(3)",
    "KeyboardInterrupt": "raise KeyboardInterrupt",
    # network
    "socket": "import socket\nsocket.create_connection(('127.0.0.1', @PORT))",
    "urllib": "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:@PORT').read()",
    "http": "import http.client\nhttp.client.HTTPConnection('127.0.0.1', @PORT).request('GET', '/')",
    "asyncio": "import asyncio\nasync def go():\n    return await asyncio.open_connection('127.0.0.1', @PORT)\nasyncio.run(go())",
    # walks through objects
    "subclass walk": "().__class__.__bases__[0].__subclasses__()",
    "mro": "''.__class__.__mro__[1].__subclasses__()",
    "function globals": "(lambda: 1).__globals__['__builtins__']",
    "code object": "(lambda: 1).__code__.replace(co_code=b'')",
    "frame": "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    error.__traceback__.tb_frame.f_globals",
    "generator frame": "(one for one in [1]).gi_frame.f_builtins",
    "builtins": "__builtins__['open']('@FILE').read()",
    "import function": "__import__('os').system('touch @NEW')",
    "importlib": "import importlib\nimportlib.import_module('subprocess')",
    "exec": "exec(\"import subprocess\\nsubprocess.run(['touch', '@NEW'])\")",
    "eval": "eval(\"__import__('os').listdir('/')\")",
    "compile": "compile('1', 'x', 'eval')",
    "ctypes": "import ctypes\nctypes.CDLL(None).getpid()",
    "format string": "'{0.__class__.__init__.__globals__}'.format([])",
    "getattr": "getattr(getattr((), '__class__'), '__bases__')",
    "type": "type('A', (object,), {'__del__': lambda self: 1})().__class__.__subclasses__()",
    "gc": "import gc\ngc.get_objects()",
    "inspect": "import inspect\ninspect.currentframe().f_back.f_globals",
    "sys.modules": "import sys\nsys.modules['os'].system('touch @NEW')",
    "pickle": "import pickle\npickle.loads(b'cos\\nsystem\\n(Stouch @NEW\\ntR.')",
    "a mapping's method": "class A:\n    def __getattr__(self, name):\n        return open\nA().x('@FILE').read()",
    # time
    "endless loop": "while True:\n    pass",
    "endless loop that catches": "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n"
    "        pass",
    "loop in finally": "try:\n    while True:\n        pass\nfinally:\n    while True:\n        pass",
    "sleep": "import time\ntime.sleep(60)\nreturn 'escaped'",
    "asyncio sleep": "import asyncio\nasync def go():\n    await asyncio.sleep(60)\nawait go()\nreturn 'escaped'",
    "many sleeps": "import time\nwhile True:\n    time.sleep(0)",
    "catastrophic expression": "import re\nre.search('^(?=(a+)+$)(?:a+)+\\\\1$|(?!x)(?:a|aa)+!$', 'a' * 5000 + 'b')\n"
    "while True: pass",
    "nested loops": "sum(a * b * c for a in range(10**4) for b in range(10**4) for c in range(10**4))",
    "power": "pow(7, 10**9)",
    "power of powers": "9 ** 9 ** 9 ** 9",
    "factorial": "import math\nmath.factorial(10**8)",
    "many calls out": "while True:\n    try:\n        open('/x')\n    except Exception:\n        pass",
    "fibonacci": "def f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)\nf(80)",
    "sort": "class A:\n    def __lt__(self, other):\n        while True:\n            pass\nsorted([A(), A()])",
    # memory
    "long text": "'x' * (1 << 40)",
    "list": "[0] * 10**10",
    "growing list": "held = []\nwhile True:\n    held.append('x' * 100000)",
    "doubling": "text = 'x'\nwhile True:\n    text += text",
    "memory caught": "held = []\nwhile True:\n    try:\n        held.append('x' * 1000000)\n    except MemoryError:\n"
    "        pass",
    "huge int": "1 << (1 << 40)",
    "range to list": "list(range(10**10))",
    "format width": "f\"{'a':>{10**12}}\"",
    "percent width": "'%1000000000000d' % 1",
    "replace": "('a' * 10**6).replace('a', 'b' * 10**6)",
    "bytes": "bytearray(1 << 40)",
    "json bomb": "held = []\nfor _ in range(60):\n    held = [held, held]\njson.dumps(held)",
    "dict": "{number: str(number) * 100 for number in range(10**9)}",
    "join": "','.join(['x' * 10**6] * 10**6)",
    "int to text": "str(10**1000000)",
    # recursion
    "recursion": "def f():\n    return f()\nf()",
    "mutual recursion": "def f():\n    return g()\ndef g():\n    return f()\nf()",
    "recursion in repr": "held = []\nfor _ in range(100000):\n    held = [held]\nrepr(held)",
    "recursion in comparison": "a = []\na.append(a)\nb = []\nb.append(b)\na == b",
    "deep source": "(" * 5000 + ")" * 5000,
    "deep source of minus": "-" * 50000 + "1",
    "long sum": "1" + "+1" * 45000,
    # output
    "print flood": "while True:\n    print('x' * 1000)",
    "large result": "'x' * 10**6",
    "many items": "[0] * 10**6",
    "shared result": "held = []\nfor _ in range(60):\n    held = [held, held]\nreturn held",
    "deep result": "held = []\nfor _ in range(100000):\n    held = [held]\nreturn held",
    "own result": "held = {}\nheld['a'] = held\nreturn held['a']['a'] is 1",
    "huge int result": "10**4000",
    "no number": "float('inf')",
    "function result": "return lambda: 1",
    "object result": "class A:\n    pass\nreturn A()",
    "bytes result": "b'x'",
    "long error": "raise ValueError('x' * 10**7)",
    # more than one answer to a limit, a text or a reader of ours
    "attributes in an f-string": 'f"{(lambda: 1).__globals__}"',
    "width out of a value": "width = 10**9\nf\"{'a':{width}}\"",
    "power of large numbers in a ring": "pow(10**4000, 10**4000, 10**4000 + 1)",
    "squares without end": "held = 3\nwhile True:\n    held = held * held",
    "deep JSON": "json.loads('[' * 10**6 + ']' * 10**6)",
    "a number of a million digits as JSON": "json.loads('1' * 10**6)",
    "infinity as JSON": "json.loads('1e999')",
    "backtracking over a back-reference": "re.match(r'(a*)*\\1b', 'a' * 40)",
    "a pattern that compiles large": "re.compile('(a{1000}){1000}')",
    "amplification by replacing nothing": "re.sub('', 'x' * 10**6, 'a' * 10**6)",
    "equality that never answers": "class A:\n    def __eq__(self, other):\n        while True:\n            pass\nA() in [A()]",
    "a key that never has a hash": "class A:\n    def __hash__(self):\n        while True:\n            pass\n{A(): 1}",
    "repr of the result": "class A:\n    def __repr__(self):\n        while True:\n            pass\nreturn A()",
    "str of the error": "class A:\n    def __str__(self):\n        while True:\n            pass\nraise ValueError(A())",
    "errors in errors": "def f(n):\n    try:\n        raise ValueError('x')\n    except ValueError:\n        f(n + 1)\nf(0)",
    "rows that hold themselves": "data = [1]\ndata.append(data)\nreturn data[1] is data",
    "a list in front of itself": "held = [0]\nwhile True:\n    held[0:0] = held",
    "a coroutine as the result": "async def f():\n    return open('@FILE').read()\nreturn f()",
    "two of each": "import asyncio\nasync def f():\n    return await asyncio.gather(f(), f())\nawait f()",
    "deep source of attributes": "x" + ".a" * 40000,
    "deep source of elif": "if 0: pass\n" + "elif 0: pass\n" * 7000,
    "a number of 90,000 digits": "9" * 90000,
}

_TELLS = (
    "import random\nos = random._os\nlibc = os.sys.modules['ctypes'].CDLL(None)\ndef tell():\n    for at in range(3, 64):\n"
    '        try:\n            os.write(at, b\'{"value": "escaped"}\')\n        except OSError:\n            pass\n'
    "    os._exit(0)\n"
)
"""Gives an answer past the interpreter, which would say only that the code is after what it is denied."""
STANDARD_PYTHON = {
    "nothing, told past the interpreter": _TELLS.replace("escaped", "told") + "tell()",
    # walks to the real modules, which are loaded but can do nothing
    "os by a module's own import": "import random\nrandom._os.system('touch @NEW')",
    "os.open by a module": "import random\nos = random._os\nos.read(os.open('@FILE', 0), 100)",
    "os.write to a new file": "import random\nos = random._os\nos.write(os.open('@NEW', os.O_CREAT | os.O_WRONLY), b'x')",
    "environment by a module": "import random\nreturn dict(random._os.environ)",
    "fork by a module": "import random\nrandom._os.fork()\nreturn 'escaped'",
    "kill the parent": "import random\nrandom._os.kill(random._os.getppid(), 9)\nreturn 'escaped'",
    "kill the session": "import random\nrandom._os.killpg(0, 9)\nreturn 'escaped'",
    "exec by a module": "import random\nrandom._os.execv('/bin/touch', ['touch', '@NEW'])",
    "exit without a word": "import random\nrandom._os._exit(3)",
    "an answer of its own": "import random\nfor at in range(3, 64):\n    try:\n"
    '        random._os.write(at, b\'{"value": 1}\\n{"value": "escaped"}\\n\' * 9)\n'
    "    except OSError:\n        pass\nrandom._os._exit(0)",
    "an endless answer": "import random\nwhile True:\n    for at in range(1, 64):\n        try:\n"
    "            random._os.write(at, b'x' * 60000)\n"
    "        except OSError:\n            pass",
    "a nested answer": "import random\nfor at in range(3, 64):\n    try:\n        random._os.write(at, b'[' * 60000)\n"
    "    except OSError:\n        pass\n"
    "random._os._exit(0)",
    "the alarm put off": "import random\nsys = random._os.sys\nsignal = sys.modules['signal']\n"
    "signal.signal(signal.SIGALRM, lambda *_: None)\n"
    "signal.setitimer(signal.ITIMER_REAL, 0)\nwhile True:\n    pass",
    "the alarm taken by C": "import random\nsys = random._os.sys\nsignal = sys.modules['signal']\n"
    "signal.pthread_sigmask(signal.SIG_BLOCK, [14])\n"
    "while True:\n    pass",
    "threads": "import random\nsys = random._os.sys\nsys.modules['_thread'].start_new_thread(lambda: 1, ())\nreturn 'escaped'",
    "ctypes by sys.modules": "import random\nctypes = random._os.sys.modules['ctypes']\nlibc = ctypes.CDLL(None)\n"
    "libc.open(b'@NEW', 0o101, 0o600)\nlibc.fork() >= 0 and 1 / 0\nlibc.system(b'touch @NEW')",
    "system calls by number": _TELLS
    + "calls = (41, 2, 1, 0), (56, 17, 0, 0, 0, 0), (57,), (425, 8, 0), (257, -100, b'@FILE', 0), (101, 0, 0, 0, 0)\n"
    "for call in calls:\n    libc.syscall(*call) >= 0 and tell()",
    "unfiltered again": _TELLS
    + "libc.prctl(22, 0, 0, 0, 0) == 0 and tell()\nlibc.syscall(157, 1, 0, 0, 0, 0) == 0 and tell()",
    "a null pointer": "import random\nrandom._os.sys.modules['ctypes'].string_at(0)",
    "a socket by a module": "import random\nmodules = random._os.sys.modules\n"
    "modules.get('_socket', __import__)('socket')\nmodules['_socket'].socket().connect(('127.0.0.1', @PORT))",
    "the importer": "import random\nloader = random._os.sys.modules['importlib._bootstrap']\n"
    "loader._gcd_import('subprocess').run(['touch', '@NEW'])",
    "real builtins": "().__class__.__base__.__subclasses__()[0].__init__.__class__\n"
    "[one for one in ().__class__.__base__.__subclasses__()"
    " if one.__name__ == '_wrap_close'][0].__init__.__globals__['system']('touch @NEW')",
    "real open": "[one for one in ().__class__.__base__.__subclasses__() if one.__name__ == 'Quitter'][0].__call__.__globals__['sys']"
    ".modules['builtins'].open('@FILE').read()",
    "what ran before": "import random\ngc = random._os.sys.modules['gc']\nreturn 'escaped' if any(type(one) is dict and "
    "'never told' in one for one in gc.get_objects()) else 0",
    # each construct that the small interpreter has not
    "frame of a running generator": "def each():\n    yield each_one.gi_frame.f_back.f_back.f_globals\neach_one = each()\n"
    "next(each_one)['os'].system('touch @NEW')",
    "code of a generator": "g = (one for one in [1])\ng.gi_code.replace(co_code=b'\\x00' * 8)\nnext(g)",
    "a code object made up": "def f(): pass\nf.__code__ = f.__code__.replace(co_code=bytes(range(256)), co_stacksize=1)\nf()",
    "frame of a coroutine": "async def f(): pass\nf().cr_frame.f_builtins['open']('@FILE').read()",
    "endless generator": "def each():\n    while True:\n        yield 1\nsum(each())",
    "generator that will not close": "def each():\n    while True:\n        try:\n            yield 1\n"
    "        except BaseException:\n            pass\n"
    "g = each()\nnext(g)\ndel g\nreturn 1",
    "a finalizer without end": "class A:\n    def __del__(self):\n        while True:\n            pass\n"
    "del globals()['A']\nreturn 1",
    "string.Formatter": "import string\nstring.Formatter().vformat('{0.__class__.__init__.__globals__[open]}', ('x',), {})",
    "string.Template": "import string\nstring.Template('$a').substitute({'a': open('@FILE').read()})",
    "attrgetter": "import operator\noperator.attrgetter('__class__.__base__.__subclasses__')('')()",
    "methodcaller": "import operator\noperator.methodcaller('__reduce_ex__', 2)(object())",
    "enum's metaclass": "import enum\nclass A(enum.Enum):\n    B = 1\n"
    "type(A).__call__.__globals__['sys'].modules['os'].system('touch @NEW')",
    "metaclass that is run in looking up": "class M(type):\n    def __instancecheck__(self, one):\n        while True:\n"
    "            pass\n"
    "class A(metaclass=M):\n    pass\nisinstance(1, A)",
    "ast to code": "import ast\ntree = ast.parse(\"__import__('subprocess').run(['touch', '@NEW'])\")\n"
    "exec(compile(tree, 'x', 'exec'))",
    "ast of a deep text": "import ast\nast.literal_eval('[' * 90000 + ']' * 90000)",
    "ast of a deep chain": "import ast\nast.literal_eval('-' * 90000 + '1')",
    "difflib without end": "import difflib\ndifflib.SequenceMatcher(None, 'ab' * 5000, 'ba' * 5000, autojunk=False).ratio()",
    "difflib of many lines": "import difflib\n"
    "list(difflib.ndiff(['ab' * 50 + str(n) for n in range(900)], ['ba' * 50 + str(n) for n in range(900)]))",
    "textwrap of a wide text": "import textwrap\ntextwrap.indent('a\\n' * 10**7, ' ' * 10**4)",
    "textwrap without end": "import textwrap\ntextwrap.wrap('a ' * 10**7, 1)",
    "html to a thousandfold": "import html\nhtml.escape('&' * 10**8)",
    "decimals of a billion digits": "import decimal\ndecimal.getcontext().prec = 10**9\ndecimal.Decimal(1) / 3",
    "fractions that grow": "import fractions\none = fractions.Fraction(3, 7)\nwhile True:\n    one *= one",
    "product of many": "import itertools\nlist(itertools.product(range(100), repeat=9))",
    "an endless cycle": "import itertools\nlist(itertools.cycle([1]))",
    "entities of XML": "import xml.etree.ElementTree as x\n"
    "bomb = '<!DOCTYPE a [<!ENTITY b0 \"ha\">' + ''.join(f'<!ENTITY b{n} \"' + f'&b{n - 1};' * 10 + "
    "'\">' for n in range(1, 10)) + ']><a>&b9;</a>'\nlen(x.fromstring(bomb).text)",
    "a file by XML": "import xml.dom.minidom as x\nx.parse('@FILE').toxml()",
    "an entity from a file": "import xml.etree.ElementTree as x\n"
    "x.fromstring('<!DOCTYPE a [<!ENTITY f SYSTEM \"file://@FILE\">]><a>&f;</a>').text",
    "zlib bomb": "import zlib\nheld = zlib.compress(b'0' * 10**7)\nzlib.decompress(held) * 1000",
    "a log in a file": "import logging\nlogging.basicConfig(filename='@NEW')\nlogging.error('x')",
    "io.FileIO": "import io\nio.FileIO('@FILE').read()",
    "io.open_code": "import io\nio.open_code('@FILE').read()",
    "a dataclass's own code": "import dataclasses\n"
    "dataclasses.make_dataclass('A', [('x', 'int', __import__('subprocess').run(['touch', '@NEW']))])",
    "namedtuple of code": "import collections\ncollections.namedtuple('A', 'b c, d=open(\"@FILE\")')",
    "types.FunctionType": "import types\ntypes.FunctionType(compile('open(\"@FILE\").read()', 'x', 'eval'), {})()",
    "a pattern without end": "import re\nre.match('(a|aa)+$', 'a' * 60 + 'b')",
    "hashing without end": "import hashlib\nhashlib.pbkdf2_hmac('sha256', b'a', b'b', 10**9)",
    "secrets of the parent": "import traceback\ntry:\n    1 / 0\nexcept ZeroDivisionError as error:\n"
    "    frame = error.__traceback__.tb_frame\n"
    "    while frame.f_back:\n        frame = frame.f_back\n"
    "    frame.f_globals['os'].write(1, b'{\"value\": \"escaped\"}\\n')\n    return 1",
    "a mapping that lies": "class A(dict):\n    def items(self):\n        while True:\n            pass\nreturn A(a=1)",
    "a number that lies": "class A(int):\n    def __repr__(self):\n        return '\"escaped\"'\nreturn A(1)",
    "exit at the end": "import contextlib\natexit = __import__('logging').atexit\n"
    "atexit.register(lambda: open('@NEW', 'w'))\nreturn 1",
}
"""What only standard Python can be asked to do."""

JAVASCRIPT = {
    # files, environment, network, processes: there is no name for them
    "require": "require('fs').readFileSync('@FILE', 'utf8')",
    "import": "import('fs').then((fs) => fs.readFileSync('@FILE', 'utf8'))",
    "import of a file": "import('@FILE')",
    "import statement": "import * as std from 'std'; return std.loadFile('@FILE')",
    "std": "std.loadFile('@FILE')",
    "os": "os.exec(['touch', '@NEW'])",
    "process": "process.env.PATH",
    "process exit": "process.exit(3)",
    "Deno": "Deno.readTextFileSync('@FILE')",
    "fetch": "fetch('http://127.0.0.1:@PORT')",
    "XMLHttpRequest": "new XMLHttpRequest()",
    "WebSocket": "new WebSocket('ws://127.0.0.1:@PORT')",
    "load": "load('@FILE')",
    "scriptArgs": "scriptArgs[0]",
    "bjson": "bjson.read(new ArrayBuffer(10), 0, 10)",
    "Worker": "new Worker('x')",
    "WebAssembly": "new WebAssembly.Module(new Uint8Array([0, 97, 115, 109]))",
    # constructor chains and prototypes
    "constructor chain": "({}).constructor.constructor('return process')().env.PATH",
    "constructor chain to this": "[].constructor.constructor('return this')().require('fs').readFileSync('@FILE')",
    "function constructor": "Function('return std')().loadFile('@FILE')",
    "generator constructor": "(function* () {}).constructor('return require')().next().value('fs')",
    "async constructor": "(async () => {}).constructor('return require(\"fs\")')()",
    "indirect eval": "(0, eval)('std.loadFile(\"@FILE\")')",
    "caller": "return (function f() { return f.caller.arguments })()",
    "arguments.callee": "return arguments.callee.caller.toString()",
    "stack of an error": "try { null.x } catch (error) { return error.stack.includes('/') && error.stack.includes('.py') ? 'escaped' : 0 }",
    "prepareStackTrace": "Error.prepareStackTrace = (error, frames) => frames[0].getThis(); "
    "return new Error().stack.constructor.constructor('return require')()('fs')",
    "prototype of objects": "Object.prototype.toJSON = () => 'bent'; return {score: 1}",
    "prototype of arrays": "Array.prototype.join = () => '=\"escaped\"'; Array.prototype.map = () => 'escaped'; return ['x']",
    "iterator of arrays": "Array.prototype[Symbol.iterator] = function* () { yield '=\"escaped\"' }; return ['x']",
    "JSON.stringify": "JSON.stringify = () => '\"escaped\"'; return 1",
    "JSON": "globalThis.JSON = {stringify: () => '\"escaped\"', parse: () => 'escaped'}; return 1",
    "Function.prototype.call": "Function.prototype.call = Function.prototype.bind = () => '=\"escaped\"'; return 1",
    "String": "globalThis.String = () => '\"escaped\"'; throw new Error('x')",
    "prototype of texts": "String.prototype.toJSON = () => 'escaped-not'; throw new Error('x')",
    "leave the wrapper": "1); return 'escaped-not'; (2",
    "leave the function": "}); globalThis.x = 1; (function () { return 1",
    "proto setter": "({}).__proto__.polluted = 1; return ({}).polluted === 1 ? 'own context' : 0",
    "a state that stays": "globalThis.seen = (globalThis.seen || 0) + 1; Object.prototype.left = 1; return globalThis.seen",
    "no state that stayed": "return globalThis.seen || ({}).left ? 'escaped' : 0",
    # getters, proxies, toJSON
    "endless getter": "({get x() { for (;;); }})",
    "endless toJSON": "({toJSON() { for (;;); }})",
    "endless proxy": "return new Proxy({}, {get() { for (;;); }})",
    "proxy of keys": "return new Proxy({}, {ownKeys() { for (;;); }})",
    "proxy without end": "let next = {get: (_, key) => key === 'toJSON' ? undefined : new Proxy({}, next), ownKeys: () => ['a'], "
    "getOwnPropertyDescriptor: () => ({enumerable: true, configurable: true})}; return new Proxy({}, next)",
    "toString of an error": "throw {toString() { for (;;); }}",
    "message of an error": "const error = new Error('x'); Object.defineProperty(error, 'message', {get() { for (;;); }}); throw error",
    "stack of a thrown": "const error = new Error('x'); Object.defineProperty(error, 'stack', {get() { for (;;); }}); throw error",
    "valueOf": "return {valueOf() { for (;;); }} + 1",
    "hasInstance": "Object.defineProperty(Promise, Symbol.hasInstance, {value() { for (;;); }}); return {}",
    # time
    "endless loop": "for (;;);",
    "endless loop that catches": "for (;;) { try { for (;;); } catch (error) { } }",
    "loop in finally": "try { for (;;); } finally { for (;;); }",
    "catastrophic expression": "/^(a+)+$/.test('a'.repeat(40) + 'b')",
    "catastrophic expression with look-around": "/^(?=(a+)+$)(?:a+)+\\1$/.test('a'.repeat(5000) + 'b')",
    "endless generator": "let sum = 0; for (const one of (function* () { for (;;) yield 1; })()) sum += one; return sum",
    "spread of a generator": "return [...(function* () { for (;;) yield 1; })()]",
    "endless microtasks": "const go = () => Promise.resolve().then(go); go(); return 1",
    "async": "(async () => { for (;;) await 1; })()",
    "promise": "Promise.resolve().then(() => { std.loadFile('secret'); return 'escaped'; })",
    "promise for ever": "(async () => { for (;;) await 1; })()",
    "thenable": "({then(done) { done('escaped') }, x: 1})",
    "sort": "[3, 2, 1].sort(() => { for (;;); })",
    "replace": "'aaa'.replace(/a/g, () => { for (;;); })",
    "Atomics.wait": "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60000)",
    "bigint power": "2n ** (2n ** 40n)",
    "bigint multiplication": "let one = 3n; for (;;) one *= one",
    "timer": "setTimeout(() => 1, 60000)",
    "date": "while (Date.now()) { }",
    "with a label": "out: for (;;) { for (;;) continue out; }",
    # memory
    "long text": "'x'.repeat(1 << 29)",
    "pad": "'x'.padEnd(1e9)",
    "array": "new Array(1e9).fill(0)",
    "growing array": "const held = []; for (;;) held.push('x'.repeat(100000) + held.length)",
    "memory caught": "const held = []; for (;;) { try { held.push(new Array(100000).fill(1)) } catch (error) { } }",
    "array buffer": "new ArrayBuffer(1 << 30)",
    "array buffers": "const held = []; for (;;) held.push(new ArrayBuffer(1 << 20))",
    "resizable buffer": "new ArrayBuffer(8, {maxByteLength: 2 ** 40})",
    "shared buffers": "const held = []; for (;;) held.push(new SharedArrayBuffer(1 << 20))",
    "typed arrays": "const held = []; for (;;) held.push(new Float64Array(1 << 17))",
    "doubling": "let text = 'x'; for (;;) text += text",
    "map": "const held = new Map(); for (let at = 0; ; at++) held.set(at, 'x'.repeat(1000) + at)",
    "symbols": "const held = {}; for (let at = 0; ; at++) held[Symbol(at)] = at",
    "closures": "let held = () => 1; for (;;) { const inner = held; held = () => inner; }",
    "bigint shift": "1n << (1n << 40n)",
    "regular expressions": "const held = []; for (let at = 0; ; at++) held.push(new RegExp('(a|b){1,500}' + at))",
    "functions": "const held = []; for (let at = 0; ; at++) held.push(Function('return ' + at))",
    # recursion
    "recursion": "function f() { return f() } return f()",
    "recursion caught": "function f() { try { f() } catch (error) { f() } } f(); return 1",
    "recursion of eval": "const f = () => eval('f()'); f()",
    "deep JSON": "JSON.parse('['.repeat(1e6))",
    "deep source": "[" * 20000 + "]" * 20000,
    "deep source of parentheses": "(" * 20000 + "1" + ")" * 20000,
    "recursion of toString": "const one = {toString() { return `${one}` }}; return `${one}`",
    "proxy of a proxy": "let one = {}; for (let at = 0; at < 1e6; at++) one = new Proxy(one, {}); return one.x",
    "bound functions": "let f = () => 1; for (let at = 0; at < 1e6; at++) f = f.bind(null); return f()",
    # output
    "large result": "'x'.repeat(1e6)",
    "many items": "new Array(1e6).fill(0)",
    "shared result": "let held = []; for (let at = 0; at < 60; at++) held = [held, held]; return held",
    "deep result": "let held = []; for (let at = 0; at < 1e5; at++) held = [held]; return held",
    "own result": "const held = {}; held.a = held; return held",
    "bigint result": "10n",
    "symbol result": "Symbol('x')",
    "half a character": "'\\ud800'",
    "nothing with bytes": "'a\\0b'",
    "long error": "throw new Error('x'.repeat(1e7))",
    "null thrown": "throw null",
    "a limit thrown": "throw new InternalError('interrupted')",
    # hooks that the engine itself would call
    "endless prepareStackTrace": "Error.prepareStackTrace = () => { for (;;); }; throw new Error('x')",
    "stackTraceLimit": "Error.stackTraceLimit = {valueOf() { for (;;); }}; throw new Error('x')",
    "setter of an index": "Object.defineProperty(Array.prototype, '0', {set() { for (;;); }}); return [1]",
    "species of arrays": "Array.prototype.constructor = {[Symbol.species]: function () { for (;;); }}; return [1].map((x) => x)",
    "toPrimitive of a thrown": "throw {[Symbol.toPrimitive]() { for (;;); }}",
    "a proxy thrown": "throw new Proxy({}, {get() { for (;;); }, getPrototypeOf() { for (;;); }})",
    "an error's proxy thrown": "throw new Proxy(new Error('x'), {get() { return 'y'.repeat(1e6) }})",
    "a proxy of a list": "return new Proxy([], {get(of, key) { return key === 'length' ? 1e9 : 0 }})",
    "a list of four billion": "const held = []; held.length = 4294967295; return held",
    "a then that never answers": "return {get then() { for (;;); }}",
    "raw JSON": "return JSON.rawJSON('1e99999')",
    "toJSON of numbers": "BigInt.prototype.toJSON = function () { return 'x'.repeat(1e6) }; return 1n",
    "own __proto__": "return JSON.parse('{\"__proto__\": {\"score\": 1}}').score === 1 ? 'escaped' : 0",
    "exec of expressions": "RegExp.prototype.exec = () => { for (;;); }; return 'a'.replace(/a/, 'b')",
    "a row with another prototype": "const row = {}; Object.setPrototypeOf(row, new Proxy({}, {get() { for (;;); }})); return row.x",
    "everything is in scope": "with (new Proxy({}, {has() { return true }, get() { for (;;); }})) { x }",
    "a finalizer that never ends": "globalThis.held = new FinalizationRegistry(() => { for (;;); }); "
    "(() => { held.register({x: 1}, 'y') })(); return 1",
    "weak references": "const held = []; for (let at = 0; ; at++) held.push(new WeakRef({at}), 'x'.repeat(1000) + at)",
    "a shared buffer that grows": "new SharedArrayBuffer(1, {maxByteLength: 2 ** 30}).grow(2 ** 30)",
    "a buffer handed on": "new ArrayBuffer(8).transfer(2 ** 40)",
    "an expression's large class": "new RegExp('[' + 'a-z'.repeat(1e6) + ']', 'i')",
    "spread of itself": "let held = [1]; for (;;) held = held.flatMap((one) => [one, one])",
    "no engine left": "delete globalThis.JSON; delete globalThis.Object; delete globalThis.eval; globalThis.Function = null; return 1",
    "another eval": "globalThis.eval = () => 'escaped'; 5",
    "console of one's own": "console.log = () => { for (;;); }; Object.freeze(globalThis); return 1",
    "out of the comment": "*/ } return 'escaped-not'; /*",
}
