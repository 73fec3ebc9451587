-- KEYS: record.
return seen(KEYS[1], record_of(KEYS[1]))
