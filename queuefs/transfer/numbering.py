"""Which ids messages have here that had others elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queuefs.errors import BadValue, IdInUse, IdsExhausted
from queuefs.message import MAX_MESSAGE_ID, MessageId
from queuefs.transfer.seen import Seen

if TYPE_CHECKING:
    from queuefs.transfer.lines import Header
    from queuefs.transfer.terms import Terms

#: A message may have a lower id than the header says, if it changed its state while the export was made. Ids that are
#: given anew leave room for all that are lower by no more than this.
MARGIN = 2**32


class Numbering:
    """Gives each message of an export its id here: the same, or one that is higher by what is the same for all.

    So the order stays what it was, whatever the order is in which messages come.
    """

    def __init__(self, terms: Terms, last: MessageId | None) -> None:
        """Begin; *last* is the highest id that this store has given."""
        self._terms = terms
        self._last = last or 0
        self._seen = Seen()
        self.shift = 0

    def begin(self, header: Header) -> None:
        """Take note of the ids that will come.

        Raises:
            IdInUse: this store may have given some of them; the sentence names the ways out.
        """
        lowest = int(header.lowest_id or 1)
        if self._terms.renumber:
            self.shift = max(0, self._last + 1 - max(1, lowest - MARGIN))
        elif not self._terms.resume and header.lowest_id is not None and lowest <= self._last:
            raise IdInUse(
                f"this store has given ids up to {self._last}, and the export's begin at {lowest}: --renumber gives "
                "its messages new ids, --resume goes on with an import of this export that was broken off"
            )

    def of(self, text: str) -> MessageId:
        """Return the id that a message has here.

        Raises:
            BadValue: it came before.
            IdInUse: this store may have given it.
            IdsExhausted: ids don't go so high.
        """
        number = int(text) + self.shift
        if number > MAX_MESSAGE_ID:
            raise IdsExhausted
        if number <= self._last and not self._terms.resume:
            raise IdInUse(f"this store may have given the id {number}, for it has given ids up to {self._last}")
        found = MessageId(number)
        if not self._seen.add(found):
            raise BadValue(f"the id {text} came before")
        return found
