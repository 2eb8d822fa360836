-- ARGV: queue, count, 1 if the last is first, now, the length up to which payloads are read ('' for any). Returns a head
-- and a payload (see `body_of`) for each; messages with a part missing and those that have outlived their time are
-- passed over.
local queue, wanted, now = ARGV[1], tonumber(ARGV[2]), clock(ARGV[4])
if not known(queue) then
  return '-noqueue'
end
ripen(queue, now, RIPE_AT_ONCE)
bring_back(queue, ARGV[5])
local found, next_heads = {'+'}, walk(queue, ARGV[3] == '1')
while #found < 1 + 2 * wanted do
  local heads = next_heads(math.min(wanted, 1000))
  if #heads == 0 then
    break
  end
  for _, id in ipairs(heads) do
    local meta = #found < 1 + 2 * wanted and redis.call('HGET', key(queue, 'meta'), id)
    local m = meta and read_meta(meta)
    if m and (m.expires == '-' or tonumber(m.expires) > now) then
      local body = body_of(queue, id, m.size, 'body', ARGV[5])
      if body then
        found[#found + 1] = id .. ' - ' .. meta
        found[#found + 1] = body
      end
    end
  end
end
return found
