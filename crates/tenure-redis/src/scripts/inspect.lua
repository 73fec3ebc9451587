-- KEYS: record.
local record = record_of(KEYS[1])
insist_on_primary(KEYS[1], record)
return seen(KEYS[1], record)
