// Debian's sshd on the loopback address with keys of its own, all of it in a temporary folder.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "base/process.h"
#include "support.h"

namespace requal::toolchain {

class Sshd {
public:
    /// Empty when it runs; else why it cannot run here.
    std::string start() {
        if (!file_exists("/usr/sbin/sshd")) {
            return "there is no /usr/sbin/sshd here (package openssh-server)";
        }
        make_key("host_key");
        make_key("user_key");
        write_file_atomically(path("authorized_keys"), read_file(path("user_key.pub")));
        chmod(path("authorized_keys").c_str(), 0600);
        if (getuid() == 0 && mkdir("/run/sshd", 0755) == 0) {
            made_run_folder_ = true;  // sshd started by root insists on it
        }
        for (int attempt = 0; attempt < 5; ++attempt) {
            port_ = free_port();
            write_config();
            ChildOptions options;
            options.command = {"/usr/sbin/sshd", "-D", "-e", "-f", path("sshd_config")};
            daemon_ = std::make_unique<Child>(options);
            if (answers()) {
                return try_login();
            }
        }
        return "sshd does not start: " + daemon_->stderr_tail();
    }

    ~Sshd() {
        daemon_.reset();
        if (made_run_folder_) {
            rmdir("/run/sshd");
        }
    }
    Sshd() = default;
    Sshd(const Sshd&) = delete;
    Sshd& operator=(const Sshd&) = delete;

    std::string address() const {
        return "ssh://" + user() + "@127.0.0.1:" + std::to_string(port_);
    }
    /// The ssh command with these keys and nothing of the user's own.
    std::string client() const { return "ssh -F " + path("ssh_config"); }

private:
    std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
    static std::string user() {
        const passwd* const entry = getpwuid(getuid());
        return entry == nullptr ? "root" : entry->pw_name;
    }

    void make_key(const std::string& name) {
        ChildOptions options;
        options.command = {"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path(name)};
        Child child(options);
        child.wait(60'000'000'000);
    }

    static int free_port() {
        const FileDescriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        if (bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
            getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
            return 0;
        }
        return ntohs(address.sin_port);
    }

    void write_config() {
        write_file_atomically(
            path("sshd_config"),
            "ListenAddress 127.0.0.1\nPort " + std::to_string(port_) + "\nHostKey " +
                path("host_key") + "\nAuthorizedKeysFile " + path("authorized_keys") +
                "\nPidFile none\nStrictModes no\n" + "UsePAM no\nPasswordAuthentication no\n" +
                "KbdInteractiveAuthentication no\nPermitRootLogin yes\n" + "PrintMotd no\n");
        std::string host_key = read_file(path("host_key.pub"));
        write_file_atomically(path("known_hosts"),
                              "[127.0.0.1]:" + std::to_string(port_) + " " + host_key);
        write_file_atomically(
            path("ssh_config"),
            "IdentityFile " + path("user_key") + "\nIdentitiesOnly yes\nUserKnownHostsFile " +
                path("known_hosts") + "\nGlobalKnownHostsFile none\nStrictHostKeyChecking yes\n");
    }

    bool answers() {
        for (int i = 0; i < 200; ++i) {
            if (daemon_->wait(0)) {
                return false;
            }
            const FileDescriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
            sockaddr_in address{};
            address.sin_family = AF_INET;
            address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            address.sin_port = htons(static_cast<std::uint16_t>(port_));
            if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
                return true;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        return false;
    }

    /// A machine may forbid logging in at all (a locked account, no shell): that is no fault of ours.
    std::string try_login() {
        ChildOptions options;
        options.command = {"ssh",           "-F", path("ssh_config"),    "-o",
                           "BatchMode=yes", "-p", std::to_string(port_), user() + "@127.0.0.1",
                           "true"};
        Child child(options);
        child.close_input();
        if (child.wait(60'000'000'000) && child.exit_code() == 0) {
            return "";
        }
        return "nobody can log in here: " + child.stderr_tail() + daemon_->stderr_tail();
    }

    TemporaryFolder folder_;
    std::unique_ptr<Child> daemon_;
    int port_ = 0;
    bool made_run_folder_ = false;
};

}  // namespace requal::toolchain
