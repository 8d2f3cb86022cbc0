"""Digests of the sentences of the shipped skills' steps, and of the hard rules: the newest first, then those of earlier releases.

A copy of an earlier release's file loads: what it says of a step is what the step does, or less.
"""

from __future__ import annotations

SENTENCES: dict[str, dict[str, tuple[str, ...]]] = {
    "run-test-case": {
        "load-case": ("5151481a608e33efb578f2b352fcda17",),
        "get-output": ("4bf47deb1af48143bc24d0b533289ae1",),
        "score-criteria": ("6476d72ad0f04a9f222468952bd7aaa1",),
        "make-judgments": ("86bd7bffba4dfebb3f472302c6938fcb",),
        "sum-scores": ("c7dae5b2fd4c3713f4db2661d1adf7e9",),
        "decide-pass": ("bd45ab2fb7640b69cbf5545a6c2abdef",),
        "record-run": (
            "87ab1d0d41973bdd980ae450483f673a",
            "6e1f0f4bfb49636a693ad9a4265d5707",
        ),
    },
    "run-benchmark": {
        "load-benchmark": ("17b3b19fd270abe965f1f7879f12f553",),
        "run-cases": ("edcfc1a0bcd8bfd51d0677c11fb4912e",),
        "aggregate-runs": ("cfa603f1eabcaefe80496e4e5e4eba2f",),
        "compute-figures": ("784055137523f1d01e09ac11f47b8f71",),
        "update-benchmark": ("3e63b263023d302f14a0010780d4b0ce",),
        "check-regression": ("9a03290158827fc46e350e63592b006d",),
    },
    "detect-trend": {
        "load-trend": ("8b79dd1c5c2e983cba995931c1c40c1d",),
        "append-point": ("94454edd46f239cab6e1ce72f83306f6",),
        "compute-direction": (
            "2d5da5350b630e857db8e0656609db30",
            "606e5675619c21a97217e846c9dab547",
        ),
        "update-trend": ("02037cba794b857a917ad1655060916d",),
        "escalate-degrading": ("34d0de83e70b3a81c96fe554171138c9",),
    },
    "compare-prompt-versions": {
        "load-versions": ("72024cc6b01951a3debd48dabe6fec24",),
        "run-both": ("a86538bee3a3749d0c7820d8a7f05817",),
        "record-comparison": ("255b9fcf31afac2f027911ad430fccf2",),
        "name-winner": ("6238c19e68d008d0af219c46df2ca26f",),
        "report-comparison": ("6112fff2a197f6f1f520fb640dac85da",),
    },
    "classify-failure": {
        "compare-outputs": ("1d9f1236ad64e08711a7b076ed878c90",),
        "classify-type": ("8efb764708e2d315e370c5c19401ffe5",),
        "find-criteria": ("c02265eb6653796900b54f0c32ff7f8a",),
        "estimate-cause": ("dfb7aa916d66b2e5f59d8d7ed2339bed",),
        "record-failure": ("4057377db94c333080dd4dee15862c2c",),
        "store-findings": ("7760bcc56879f8c4105dd799c9081f34",),
    },
    "hard-rules": {
        "begins": ("d5f501ee85cadde04840360e7dc13d86",),
        "HR1": ("8dc570149ef36f1a21dace3ea1fd4910",),
        "HR2": ("a2c4bb25d7c6750269b1930500f7148b",),
        "HR3": ("5a7e7079e7929305d7d67089d8024dda",),
        "HR4": ("e164ac28298fa8e74debf88c10bad043",),
        "HR5": ("fe4ecbfd46324495a50871183f9a94e4",),
    },
}
