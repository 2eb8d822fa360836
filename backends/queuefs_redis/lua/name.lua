-- uses: common, once, keys, messages
-- ARGV: queue, verb (pause, resume or cancel), then ids. Returns one letter for each: D, S (stale) or U (unknown).
if before then
  return before
end
local queue, verb = ARGV[4], ARGV[5]
local settled, done = {}, {}

local function cancel(id, m, is_held)
  if not is_held then
    take_out(queue, id, m)
    forget(queue, id, m)
  elseif m and m.flag ~= 'C' then
    go_on_when_full()
    m.flag = 'C'
    write_meta('meta', queue, id, m)
  end
end

local function turn(id, m, flag)
  if m and m.flag ~= flag then
    take_out(queue, id, m)
    m.flag = flag
    write_meta('meta', queue, id, m)
    make_pending(queue, id, m)
  end
end

for i = 6, #ARGV do
  local id = ARGV[i]
  local letter, m = standing(queue, id, '') -- D in processing, S pending
  if letter ~= 'U' and verb == 'cancel' then
    cancel(id, m, letter == 'D')
    letter = 'D'
  elseif letter == 'S' then
    turn(id, m, verb == 'pause' and 'P' or '-')
    letter = 'D'
  elseif letter == 'D' then
    letter = 'S'
  end
  settled[#settled + 1] = letter
  if letter == 'D' then
    done[#done + 1] = id
  end
end
if #done == 0 then
  return known(queue) and '+' .. table.concat(settled) or '-noqueue'
end
tell(queue, verb, done)
return answer(table.concat(settled))
