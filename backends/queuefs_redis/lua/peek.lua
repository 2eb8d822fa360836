-- uses: common, keys, messages, walk
-- ARGV: queue, count, 1 if the last is first, now. Returns a head and a body for each; messages with a part missing and
-- those that have outlived their time are passed over.
local queue, wanted, now = ARGV[1], tonumber(ARGV[2]), clock(ARGV[4])
if not known(queue) then
  return '-noqueue'
end
ripen(queue, now, RIPE_AT_ONCE)
local found, next_heads = {'+'}, walk(queue, ARGV[3] == '1')
while #found < 1 + 2 * wanted do
  local heads = next_heads(math.min(wanted, 1000))
  if #heads == 0 then
    break
  end
  for _, id in ipairs(heads) do
    local meta, body = redis.call('HGET', key(queue, 'meta'), id), redis.call('HGET', key(queue, 'body'), id)
    if meta and body and #found < 1 + 2 * wanted then
      local expires = read_meta(meta).expires
      if expires == '-' or tonumber(expires) > now then
        found[#found + 1] = id .. ' - ' .. meta
        found[#found + 1] = body
      end
    end
  end
end
return found
