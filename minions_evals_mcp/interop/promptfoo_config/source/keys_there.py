"""The keys that promptfoo 0.121.20 reads, by place: any other changes nothing there, so that it need not be refused here."""

from __future__ import annotations

ROOT = frozenset({
    "tags", "description", "providers", "targets", "prompts", "tests", "scenarios", "defaultTest", "outputPath", "sharing",
    "nunjucksFilters", "env", "derivedMetrics", "extensions", "metadata", "redteam", "writeLatestResults", "tracing",
    "evaluateOptions", "commandLineOptions", "assertionTemplates",
})  # fmt: skip
TEST = frozenset({
    "description", "vars", "provider", "providers", "prompts", "providerOutput", "assert", "assertScoringFunction", "options",
    "threshold", "metadata",
})  # fmt: skip
OPTIONS = frozenset({
    "prefix", "suffix", "postprocess", "transform", "transformVars", "storeOutputAs", "rubricPrompt", "provider", "factuality",
    "disableVarExpansion", "disableConversationVar", "disableDefaultAsserts", "runSerially", "repeat",
})  # fmt: skip
ASSERTION = frozenset({
    "type", "value", "config", "threshold", "weight", "provider", "rubricPrompt", "metric", "transform", "contextTransform",
    "assert",
})  # fmt: skip
PROVIDER = frozenset({"id", "label", "config", "prompts", "transform", "delay", "env", "inputs"})
ADDRESS = frozenset({
    "url", "method", "headers", "body", "queryParams", "transformRequest", "transformResponse", "responseParser",
    "validateStatus", "request", "useHttps", "maxRetries", "timeoutMs", "sessionParser", "sessionSource", "tokenEstimation",
    "auth", "signatureAuth", "tls", "multipart", "session", "streaming", "stateful", "apiVersion", "tools", "tool_choice",
    "transformToolsFormat",
})  # fmt: skip
MODEL = frozenset({
    "apiVersion", "audio", "background", "best_of", "betas", "cache_prompt", "cacheConfig", "context", "conversation",
    "credentials", "dataSources", "data_sources", "deploymentName", "echo", "effort", "examples", "extra_body",
    "extraBodyParams", "fallbacks", "fallbackTargets", "format", "frequency_penalty", "frequencyPenalty", "function_call",
    "functionCallHandler", "functionToolCallbacks", "functions", "gatewayUrl", "generationConfig", "guardrails", "headers",
    "images", "include", "instructions", "keep_alive", "logit_bias", "logprobs", "maxNewTokens", "maxOutputTokens",
    "max_completion_tokens", "max_length", "max_new_tokens", "max_output_tokens", "max_tokens", "max_tokens_to_sample",
    "max_tool_calls", "mcp", "metadata", "mirostat", "mirostat_eta", "mirostat_tau", "modalities", "model", "models", "n",
    "num_ctx", "num_predict", "omitDefaults", "organization", "passthrough", "penalize_nl", "prediction", "presence_penalty",
    "presencePenalty", "previous_response_id", "projectId", "prompt", "prompt_cache_key", "random_seed", "raw", "reasoning",
    "reasoning_effort", "region", "repeat_last_n", "repeat_penalty", "responseMimeType", "responseSchema", "response_format",
    "response_schema", "route", "safe_prompt", "safetySettings", "seed", "service_tier", "stop", "stopSequences",
    "stop_sequences", "store", "suffix", "system", "systemInstruction", "systemPrompt", "system_prompt", "temperature",
    "template", "think", "thinking", "toolConfig", "tool_choice", "tool_config", "tool_resources", "tools", "topK", "topP",
    "top_k", "top_logprobs", "top_p", "transformToolsFormat", "transforms", "truncate", "truncation", "user", "verbosity",
    "web_search_options",
})  # fmt: skip
"""What a model's config may say that changes a request there."""
