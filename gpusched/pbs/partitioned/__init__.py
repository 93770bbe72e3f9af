"""Partitioned scheduling of batches: each task on one of several GPUs, each GPU with its schedule.

`partition` is in ``gpu_assignment``, its answer in ``partition_answer``, the proofs that no
assignment exists in ``partition_certificate``, the tables of parts in ``part_tables``.
"""

from gpusched.pbs.partitioned.gpu_assignment import partition
from gpusched.pbs.partitioned.partition_answer import Partition
from gpusched.pbs.partitioned.partition_certificate import InfeasiblePart, PartitionCertificate

__all__ = ["InfeasiblePart", "Partition", "PartitionCertificate", "partition"]
