-- Tells whoever watches what is there now; for a bid, only if it won.
-- KEYS: record. ARGV: channel, tenure or ''.
local record = record_of(KEYS[1])
if ARGV[2] ~= '' and (not record or record.tenure ~= ARGV[2]) then
  return { 'told' }
end
local news = 'vacant'
if record then
  news = string.format('held %.0f ', call('PTTL', KEYS[1])) .. string.sub(record.value, 1, 4096)
end
call('PUBLISH', ARGV[1], news)
return { 'told' }
