-- Worlds are records. The table is not made anew: the type is only added to the constraint's text, as in 0015.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '''skill-definition'', ''proposal-draft''))', '''skill-definition'', ''proposal-draft'', ''world''))')
WHERE type = 'table' AND name = 'minion';
PRAGMA writable_schema = RESET;
