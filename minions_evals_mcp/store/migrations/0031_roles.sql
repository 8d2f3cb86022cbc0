-- What a person may do. Whoever was known before roles were kept may do everything, as until then.
ALTER TABLE person ADD COLUMN role TEXT NOT NULL DEFAULT 'editor' CHECK (role IN ('viewer', 'judge', 'editor'));
