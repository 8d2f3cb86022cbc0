-- A prompt's versions, its test cases, and the versions that recorded agent-runs name are found without a scan.
CREATE INDEX minion_prompt_version ON minion (json_extract(fields, '$.promptId')) WHERE type = 'prompt-version';
CREATE INDEX minion_prompt_case ON minion (json_extract(fields, '$.promptId')) WHERE type = 'test-case';
CREATE INDEX agent_run_key_version ON agent_run_key (prompt_version_ref) WHERE prompt_version_ref IS NOT NULL;
