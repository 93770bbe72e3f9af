"""Certificates that no schedule of batches meets all deadlines, each checked by `verify`.

`Overload` assigns prices to jobs, `DeadInterval` names an interval that is too short, `DeadStates`
a set of states that no batch leaves in time, and `InfeasibleSubset` contains one of these for a
subset of the tasks. The check shares no code with the search that finds them [RTNS24].
"""

from gpusched.pbs.certificates.certificate import Certificate, CertificateError
from gpusched.pbs.certificates.dead_interval import DeadInterval
from gpusched.pbs.certificates.dead_states import DeadStates
from gpusched.pbs.certificates.infeasible_subset import InfeasibleSubset
from gpusched.pbs.certificates.overload import Overload
from gpusched.pbs.certificates.proof_arrays import certificate_of

__all__ = [
    "Certificate",
    "CertificateError",
    "DeadInterval",
    "DeadStates",
    "InfeasibleSubset",
    "Overload",
    "certificate_of",
]
