"""Running candidates: sandboxes chosen by a real probe, the harness inside, the engine that runs many."""

from rebug.execute.bare import NoSandbox
from rebug.execute.bwrap import BwrapSandbox
from rebug.execute.choose import ProbeResult, choose_sandbox, probe
from rebug.execute.explain import explain_limit
from rebug.execute.local import LocalEngine
from rebug.execute.observe import observe

__all__ = [
    "BwrapSandbox",
    "LocalEngine",
    "NoSandbox",
    "ProbeResult",
    "choose_sandbox",
    "explain_limit",
    "observe",
    "probe",
]
