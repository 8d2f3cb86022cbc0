"""Functions in Python files of the user's, as a config names them (`file.py:function`)."""

from __future__ import annotations

import inspect
import operator
import sys
from collections.abc import Awaitable, Callable
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from pathlib import Path
from types import CodeType
from typing import cast

import anyio.to_thread
from anyio.from_thread import start_blocking_portal

from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.targets.code_files import project_code
from minions_evals_mcp.targets.fresh_code import forget_edited


class _FromSource(SourceFileLoader):
    """Reads the text each time: kept bytecode is told by size and whole second only, and may be that of an older text."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def function_in(path: Path, name: str, *, called_with: str) -> Callable[..., object]:
    """The function of that (dotted) name, with the file's folder among the places to import from.

    Raises `BadInputError` where there is none.
    """
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    forget_edited(project_code([path], path.parent).files)
    name_of_it = f"_provider_{path.stem}"
    loader = _FromSource(name_of_it, str(path))
    try:
        module = module_from_spec(ModuleSpec(name_of_it, loader, origin=str(path)))
        module.__file__ = str(path)
        loader.exec_module(module)
        function = operator.attrgetter(name)(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001  a user's module may raise anything while it is loaded
        raise BadInputError(
            f"{path} cannot be loaded: {type(error).__name__}: {error}.",
            remedy=f"It must define {name}({called_with}).",
        ) from None
    if not callable(function):
        raise BadInputError(f"{name} in {path} is not a function.")
    return function


def awaited(value: object) -> object:
    """Returns what a function gave; a coroutine's result, from a loop in another thread: the caller may run inside one."""
    if not inspect.isawaitable(value):
        return value

    async def result() -> object:
        return await cast("Awaitable[object]", value)

    with start_blocking_portal() as portal:
        return portal.call(result)


async def result_of(function: Callable[..., object], *arguments: object) -> object:
    """Returns what the function returns, called in a thread; a coroutine is awaited."""
    result = await anyio.to_thread.run_sync(function, *arguments, abandon_on_cancel=True)
    return await cast("Awaitable[object]", result) if inspect.isawaitable(result) else result
