//! SHA-256 from zig's standard library behind a C interface: stations have no OpenSSL of a known age.
const std = @import("std");
const Sha256 = std.crypto.hash.sha2.Sha256;

export fn requal_sha256_state_bytes() usize {
    return @sizeOf(Sha256);
}

export fn requal_sha256_init(state: *align(16) Sha256) void {
    state.* = Sha256.init(.{});
}

export fn requal_sha256_update(state: *align(16) Sha256, data: [*]const u8, size: usize) void {
    state.update(data[0..size]);
}

export fn requal_sha256_finish(state: *align(16) Sha256, out: *[32]u8) void {
    state.final(out);
}
