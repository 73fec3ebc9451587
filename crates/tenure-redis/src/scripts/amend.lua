-- Writes over a record for the rest of its life, if it still has this version.
-- KEYS: record. ARGV: version, tenure, token, asked, rest of the record.
local record = record_of(KEYS[1])
if not record or record.version ~= ARGV[1] then
  return seen(KEYS[1], record)
end
local value = composed(ARGV[2], above(record.write), tonumber(ARGV[3]), ARGV[4], ARGV[5])
call('SET', KEYS[1], value, 'KEEPTTL')
return { 'amended', value }
