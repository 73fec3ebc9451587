-- KEYS: record. ARGV: tenure.
local record = record_of(KEYS[1])
if record and record.tenure == ARGV[1] then
  call('DEL', KEYS[1])
end
return { 'left' }
