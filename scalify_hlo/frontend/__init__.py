"""The JAX front end: ScaledArray, scalify(fun), the scaling primitives and custom scale rules.

Names are public under `scalify_hlo` (see its table of public names) and under the namespaces `scalify_hlo.lax`,
`.ops`, `.tree`, `.core` and `.nn`; the modules in here hold one idea each.
"""
