"""What a config may set of a request to a model, by the model's provider."""

SAMPLING = (
    "temperature",
    "top_p",
    "stop",
    "seed",
    "frequency_penalty",
    "presence_penalty",
    "response_format",
    "reasoning_effort",
)
LIMITS = ("max_tokens", "max_completion_tokens")
"""Names of the longest reply; they are said to each provider in its own way."""
MODEL = {
    "anthropic": ("max_tokens", "temperature", "top_p", "top_k", "stop_sequences", "thinking"),
    "openai": (*LIMITS, *SAMPLING),
    "gemini": (*LIMITS, *SAMPLING),
}
"""What joins the request to a model, by its provider."""
