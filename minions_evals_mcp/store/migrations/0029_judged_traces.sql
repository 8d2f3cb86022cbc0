-- Runs that judged what a message reported, which is how production traces come, by time: read while they come in.
CREATE INDEX job_of_message ON job (created_at) WHERE kind = 'test-case' AND key >= 'message:' AND key < 'message;';
