-- Tells whoever watches what is there now.
-- KEYS: record. ARGV: channel.
local record = record_of(KEYS[1])
local news = 'vacant'
if record then
  news = string.format('held %.0f ', call('PTTL', KEYS[1])) .. string.sub(record.value, 1, 4096)
end
call('PUBLISH', ARGV[1], news)
return { 'told' }
