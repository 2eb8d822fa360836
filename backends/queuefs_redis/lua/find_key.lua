-- ARGV: queue, key, now, window. Returns an id or ''.
if not known(ARGV[1]) then
  return '-noqueue'
end
return '+' .. (first_of(ARGV[1], ARGV[2], clock(ARGV[3]), tonumber(ARGV[4])) or '')
