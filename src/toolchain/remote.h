// Other machines: "ssh://user@host[:port]" and the ssh command that starts a runner there.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace requal::toolchain {

struct RemoteHost {
    std::string user;  ///< empty: ssh's own choice
    std::string host;  ///< name, IPv4 or IPv6 address (without brackets)
    int port = 0;      ///< 0: ssh's own choice
};

/// Reads "ssh://[user@]host[:port]"; Error(usage) for anything else. Names that ssh or a shell could read as something
/// other than a name (leading '-', spaces, quotes, control characters) are refused.
RemoteHost parse_remote(const std::string& text);

/// The local command that runs `program --stdio` over there, found in PATH over there when it has no '/'. The user's ssh
/// configuration applies; it never asks for a password. $REQUAL_SSH replaces "ssh" (split at spaces, no quoting).
std::vector<std::string> ssh_command(const RemoteHost& host, const std::string& program);

/// The runner program's name over there: in the folder $REQUAL_REMOTE_RUNNERS, else to be found in PATH over there.
std::string remote_program(const std::string& runner_name);

}  // namespace requal::toolchain
