-- KEYS: record. ARGV: tenure, version, lease in ms.
local record = record_of(KEYS[1])
if not record or record.tenure ~= ARGV[1] or record.version ~= ARGV[2] then
  return seen(KEYS[1], record)
end
local value = composed(record.tenure, above(record.write), record.token, record.asked, record.rest)
call('SET', KEYS[1], value, 'PX', ARGV[3])
return { 'ours', value }
