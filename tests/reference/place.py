"""Placement of blocks on SMs, and number of blocks that an SM can host.

Sources: most_room, Gilman et al. (2020/2021); olmedo, "Dissecting the CUDA scheduling hierarchy",
Definitions III.2 and III.3 and the paragraph on load balancing; occupancy, the toolkit's own
occupancy arithmetic.

A resource vector is (warps, blocks, registers, shared memory): `limits` is what one SM has, `load`
what each SM already holds, by SM id.  A kernel is (blocks, warps, registers, shared memory), the
last three per block, registers and memory already rounded to their allocation units.

An SM's L1 cache and shared memory are one array ("Dissecting the CUDA scheduling hierarchy",
section III-C2).  Every kernel has a configuration, the bytes of it that are to be shared memory.
An SM takes on the configuration of the first block that starts on it while it is empty, and keeps
it until it is empty again.  Rules for blocks of another configuration: "match", none is accepted;
"at_least", those that need less are; "ignore", all are.
"""

RULES = ("ignore", "match", "at_least")


def accepts(rule, present, configuration):
    """Whether an SM with the present configuration (None: empty) takes a block of another one."""
    if present is None or rule == "ignore":
        return True
    if rule == "at_least":
        return configuration <= present
    return configuration == present


def configuration(sizes, occupancy, shared, per_block):
    """The least carve-out of `sizes` at which the occupancy is that of the largest carve-out.

    occupancy(bytes): blocks on an SM with that many bytes of shared memory; shared: what a block
    asks for, per_block: what it gets, rounded and with the reserved part.  A kernel without shared
    memory has the least carve-out, one that fits no carve-out the largest.
    """
    if not shared:
        return min(sizes)
    if max(sizes) < per_block:
        return max(sizes)
    return min(size for size in sizes if occupancy(size) == occupancy(max(sizes)))


def room(limits, used, kernel):
    """Number of further blocks of this kernel that an SM with `used` can host."""
    need = (kernel[1], 1, kernel[2], kernel[3])
    return min((have - u) // n for have, u, n in zip(limits, used, need, strict=False) if n > 0)


def place(sms, limits, sm_order, kernels, policy, load=None, rule="ignore", wanted=None):
    """One list of SM ids per kernel, in block order.

    `wanted`: the configuration of each kernel, where `rule` is not "ignore"; a load may have that
    of the SM behind its resources, -1 if it is not known.
    Kernels are dispatched in list order and nothing finishes meanwhile.  The first block that fits
    nowhere, and all that is behind it (the rest of its kernel, all later kernels), get -1.

    round_robin: the next SM after the last one used, in cyclic order, on which the block fits.
    olmedo, for a block of y warps of kernel k:
      (a) the SMs that hold a block of kernel k-1, in SM order: the first on which the block fits
          and III.2 holds, x being the block put there last (of whatever kernel) and z the warps
          there before it;
      (b) else, when all SMs but one carry the same number z' of warps, and that one carries fewer,
          holds a block of kernel k-1 and has room: that SM if III.3 holds, x being all the warps
          on it; if III.3 does not hold that SM is passed over in (c), where another one fits;
      (c) else the SM with the fewest warps on which the block fits, the first in SM order.
    (b) and (c) together: where neither definition holds the two blocks go to different SMs.
    """
    used = [list(u[:4]) for u in load] if load else [[0] * 4 for _ in range(sms)]
    present = [None] * sms
    for s, u in enumerate(load or []):
        if len(u) > 4 and u[1] > 0 and u[4] >= 0:
            present[s] = u[4]
    history = [[] for _ in range(sms)]  # per SM and block: (kernel, its warps, warps before it)
    pointer, stuck, result = 0, False, []
    for k, kernel in enumerate(kernels):
        result.append([])
        for _ in range(kernel[0]):
            fits = [s for s in sm_order if room(limits, used[s], kernel) > 0]
            fits = [s for s in fits if rule == "ignore" or accepts(rule, present[s], wanted[k])]
            if stuck or not fits:
                stuck = True
                result[k].append(-1)
                continue
            if policy == "most_room":
                sm = max(fits, key=lambda s: room(limits, used[s], kernel))  # the first of equals
            elif policy == "round_robin":
                cycle = list(sm_order[pointer:]) + list(sm_order[:pointer])
                sm = next(s for s in cycle if s in fits)
                pointer = (list(sm_order).index(sm) + 1) % sms
            elif policy == "olmedo":
                sm = _olmedo(limits[0], [u[0] for u in used], history, k, kernel[1], fits)
            else:
                raise ValueError(policy)
            if present[sm] is None and wanted:
                present[sm] = wanted[k]
            history[sm].append((k, kernel[1], used[sm][0]))
            for r, amount in enumerate((kernel[1], 1, kernel[2], kernel[3])):
                used[sm][r] += amount
            result[k].append(sm)
    return result


def definition_2(mw, z, x, y):
    """III.2: a block of y warps joins one of x warps on an SM that held z warps before it."""
    return mw - z - x >= ((mw - z - y) // y + 1) * y


def definition_3(mw, z, x, y):
    """III.3: a block of y warps joins one of x warps, all other SMs holding z warps (z' there)."""
    return mw - z < (mw - x) // y * y <= mw - x


def _olmedo(mw, warps, history, k, y, fits):
    """The rules (a), (b), (c) of place()."""
    near = [s for s in fits if any(h[0] == k - 1 for h in history[s])]
    for s in near:
        _, x, z = history[s][-1]
        if definition_2(mw, z, x, y):
            return s
    for s in near:
        others = set(warps[:s] + warps[s + 1 :])
        if len(others) == 1 and warps[s] < max(others):
            if definition_3(mw, max(others), warps[s], y):
                return s
            fits = [f for f in fits if f != s] or fits
    return min(fits, key=lambda s: warps[s])  # the first of equals


def occupancy(cc, limits, threads, registers, shared, smem_optin=None, of_block=None):
    """(blocks per SM, the resource that limits them) for blocks of `threads` threads.

    limits: (threads, blocks, registers, shared memory) of one SM; `registers` per thread; `shared`
    static plus dynamic bytes per block; smem_optin: most a block may ask for, without the reserved
    part; of_block: most registers of a block, if fewer than those of an SM.  cc is (major, minor),
    or None for a device nobody knows: no reserved memory, 4 sub-partitions, units of 256.  Of equal
    limits the first in the order below is named.
    """
    major = cc[0] if cc else 0
    unit, reserved = (128, 1024) if major >= 8 else (256, 0)
    parts = 2 if cc == (6, 0) else 4
    warps = up(threads, 32) // 32
    bound = {"warps": limits[0] // 32 // warps, "blocks": limits[1]}
    per_warp = up(registers * 32, 256)
    if per_warp:
        bound["registers"] = parts * (limits[2] // parts // per_warp) // warps
        most = limits[2] if of_block is None else min(of_block, limits[2])
        if up(warps, parts) * per_warp > most:  # refused at launch
            bound["registers"] = 0
    per_block = up(shared + reserved, unit)
    if per_block:
        bound["shared memory"] = limits[3] // per_block
        if smem_optin is not None and shared > smem_optin:
            bound["shared memory"] = 0
    name = min(bound, key=bound.get)
    return bound[name], name


def up(value, unit):
    """`value` rounded up to a multiple of `unit`."""
    return -(-value // unit) * unit
