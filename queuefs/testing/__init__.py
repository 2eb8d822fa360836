"""What a back end is tested with: its contract, and a machine whose clocks stand still.

Have pytest rewrite the asserts in here: ``pytest.register_assert_rewrite("queuefs.testing")`` in a conftest.
"""

from queuefs.testing.clock import ManualMachine
from queuefs.testing.contract import BackendContract, TimeContract

__all__ = ["BackendContract", "ManualMachine", "TimeContract"]
