"""The whole contract as one class."""

from __future__ import annotations

from queuefs.testing.asking import AskedIdContract
from queuefs.testing.burying import BuryContract
from queuefs.testing.claiming import ClaimingContract
from queuefs.testing.dead import DeadContract
from queuefs.testing.due import DelayContract, LifeContract
from queuefs.testing.keeping import DurableContract
from queuefs.testing.keys import KeyContract
from queuefs.testing.listening import ListeningContract
from queuefs.testing.looking import LookingContract
from queuefs.testing.model import ModelContract
from queuefs.testing.moving import MoveContract
from queuefs.testing.naming import CancelContract, NamingContract, PauseContract
from queuefs.testing.order import HammerContract, OrderContract
from queuefs.testing.owners import OwnerContract
from queuefs.testing.paging import PageContract
from queuefs.testing.pieces import PieceContract
from queuefs.testing.queues import QueueContract
from queuefs.testing.records import RecordContract
from queuefs.testing.repairing import RepairContract, SpaceContract
from queuefs.testing.restored import RestoredRecordContract
from queuefs.testing.restoring import RestoreContract
from queuefs.testing.retention import RetentionContract
from queuefs.testing.room import RoomContract
from queuefs.testing.settling import SettlingContract
from queuefs.testing.sharing import SharedContract
from queuefs.testing.stats import StatsContract
from queuefs.testing.steps import LifecycleContract
from queuefs.testing.taking import TakeContract
from queuefs.testing.upkeep import UpkeepContract
from queuefs.testing.writing import WritingContract


class TimeContract(
    ClaimingContract,
    TakeContract,
    KeyContract,
    DelayContract,
    LifeContract,
    UpkeepContract,
    StatsContract,
    RecordContract,
    RetentionContract,
    RestoreContract,
    LifecycleContract,
    ModelContract,
):
    """The tests in which time matters: a store with a clock of its own runs them once more by the tests' time."""


class BackendContract(
    QueueContract,
    OwnerContract,
    WritingContract,
    RoomContract,
    SettlingContract,
    NamingContract,
    PauseContract,
    CancelContract,
    DeadContract,
    BuryContract,
    MoveContract,
    LookingContract,
    PageContract,
    PieceContract,
    AskedIdContract,
    RestoredRecordContract,
    SpaceContract,
    RepairContract,
    OrderContract,
    HammerContract,
    DurableContract,
    SharedContract,
    ListeningContract,
    TimeContract,
):
    """Every test that a back end has to pass.

    A back end's own test file names its store, and says how to get at what the contract can't reach::

        class TestMyBackend(BackendContract):
            @pytest.fixture
            def url(self, tmp_path: Path) -> str:
                return f"mine://{tmp_path}/store"

            async def use_ids_up(self, backend: Backend, url: str, *, last: int) -> None:
                ...

    See `Contract` for the other knobs: `open_store`; for a durable store `damage_payload` and `restore_older_copy`; for
    one that several daemons may have open `age` and `interrupt`. The tests want pytest-trio (``trio_mode = true``) and
    hypothesis.
    """
