#include "toolchain/remote.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "base/error.h"

namespace requal::toolchain {

namespace {

constexpr std::string_view letters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

bool only(std::string_view text, std::string_view more) {
    return std::all_of(text.begin(), text.end(), [&](char c) {
        return letters.find(c) != std::string_view::npos || more.find(c) != std::string_view::npos;
    });
}

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
    throw Error(ErrorKind::usage, why, text, "write ssh://user@host or ssh://user@host:port");
}

/// For the shell that sshd starts: plain words stay as they are, everything else is quoted.
std::string shell_word(const std::string& text) {
    if (!text.empty() && only(text, "/._-+:@%,=")) {
        return text;
    }
    std::string quoted = "'";
    for (const char c : text) {
        if (c == '\'') {
            quoted += "'\\''";
        } else {
            quoted += c;
        }
    }
    return quoted + "'";
}

}  // namespace

RemoteHost parse_remote(const std::string& text) {
    constexpr std::string_view scheme = "ssh://";
    if (!text.starts_with(scheme)) {
        refuse(text, "it is no ssh address");
    }
    std::string rest = text.substr(scheme.size());
    if (rest.ends_with('/')) {
        rest.pop_back();
    }
    RemoteHost host;
    if (const std::size_t at = rest.find('@'); at != std::string::npos) {
        host.user = rest.substr(0, at);
        rest.erase(0, at + 1);
        if (host.user.empty() || host.user.size() > 128 || host.user.front() == '-' ||
            !only(host.user, "._-+")) {
            refuse(text, "its user name has characters that are not allowed");
        }
    }
    std::string port;
    bool has_port = false;
    if (rest.starts_with('[')) {
        const std::size_t end = rest.find(']');
        if (end == std::string::npos) {
            refuse(text, "its address lacks ]");
        }
        host.host = rest.substr(1, end - 1);
        if (host.host.empty() || host.host.front() == '-' || !only(host.host, ":.")) {
            refuse(text, "its host is no IPv6 address");
        }
        has_port = end + 1 < rest.size();
        if (has_port && rest[end + 1] != ':') {
            refuse(text, "it has more than an address and a port");
        }
        port = has_port ? rest.substr(end + 2) : "";
    } else {
        const std::size_t colon = rest.find(':');
        has_port = colon != std::string::npos;
        host.host = rest.substr(0, colon);
        port = has_port ? rest.substr(colon + 1) : "";
        if (host.host.empty() || host.host.size() > 255 || host.host.front() == '-' ||
            !only(host.host, "._-")) {
            refuse(text, "its host name has characters that are not allowed");
        }
    }
    if (has_port) {
        if (port.empty() || port.size() > 5 ||
            port.find_first_not_of("0123456789") != std::string::npos) {
            refuse(text, "its port is no number");
        }
        host.port = std::stoi(port);
        if (host.port < 1 || host.port > 65535) {
            refuse(text, "its port must lie between 1 and 65535");
        }
    }
    return host;
}

std::vector<std::string> ssh_command(const RemoteHost& host, const std::string& program) {
    std::vector<std::string> command;
    const char* const configured = std::getenv("REQUAL_SSH");
    std::istringstream words(configured != nullptr ? configured : "");
    for (std::string word; words >> word;) {
        command.push_back(word);
    }
    if (command.empty()) {
        command.emplace_back("ssh");
    }
    // No password prompt, no terminal, no agent or port forwarding; a dead connection is noticed.
    for (const char* word : {"-T", "-a", "-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=20",
                             "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=4"}) {
        command.emplace_back(word);
    }
    if (host.port != 0) {
        command.emplace_back("-p");
        command.push_back(std::to_string(host.port));
    }
    if (!host.user.empty()) {
        command.emplace_back("-l");
        command.push_back(host.user);
    }
    command.emplace_back("--");
    command.push_back(host.host);
    command.push_back(shell_word(program) + " --stdio");
    return command;
}

std::string remote_program(const std::string& runner_name) {
    const std::string program = "requal-runner-" + runner_name;
    const char* const folder = std::getenv("REQUAL_REMOTE_RUNNERS");
    return folder == nullptr || *folder == '\0' ? program : std::string(folder) + "/" + program;
}

}  // namespace requal::toolchain
