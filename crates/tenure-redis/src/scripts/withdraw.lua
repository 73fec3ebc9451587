-- KEYS: record. ARGV: tenure, channel.
local record = record_of(KEYS[1])
if record and record.tenure == ARGV[1] then
  redis.call('PUBLISH', ARGV[2], 'vacant')
  redis.call('DEL', KEYS[1])
end
return { 'vacant' }
