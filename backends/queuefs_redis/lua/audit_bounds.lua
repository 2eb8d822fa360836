-- ARGV: queue, 1 to put right what is wrong. Returns what of the queue would be looked for too late.
local queue, mends, found = ARGV[1], ARGV[2] == '1', {'+'}

local function look_at_bound(what, first)
  local noted = redis.call('ZSCORE', P .. what, queue)
  if first and (not noted or tonumber(noted) > tonumber(first)) then
    found[#found + 1] = what
    if mends then
      go_on_when_full()
      note(what, queue, first)
    end
  end
end

local function first_of_part(part)
  return redis.call('ZRANGE', key(queue, part), 0, 0, 'WITHSCORES')[2]
end

for what, part in pairs({leases = 'processing', delays = 'delayed', lapses = 'expiry', windows = 'windows'}) do
  look_at_bound(what, first_of_part(part))
end
local oldest = first_of_part('ends')
local _, seconds = surplus(queue, '0')
look_at_bound('retention', oldest and digits(oldest + seconds))
return found
