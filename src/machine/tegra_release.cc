#include "machine/tegra_release.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/digest.h"
#include "base/text.h"

namespace requal::machine {

namespace {

constexpr std::size_t most_checksums = 10'000;

bool is_hex(std::string_view text, std::size_t size) {
    return text.size() == size && std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
}

bool is_number(std::string_view text, bool points) {
    return !text.empty() && text.size() <= 16 && text.front() != '.' && text.back() != '.' &&
           std::all_of(text.begin(), text.end(),
                       [&](char c) { return (c >= '0' && c <= '9') || (points && c == '.'); });
}

/// Value of "KEY: value" among parts separated by commas.
std::string part_of(std::string_view line, std::string_view key) {
    const std::size_t begin = line.find(std::string(key) + ":");
    if (begin == std::string_view::npos)
        return {};
    std::string_view value = line.substr(begin + key.size() + 1);
    return std::string(trimmed(value.substr(0, value.find(','))));
}

std::string sha1_of(int fd, std::string& reason) {
    Sha1 sha1;
    std::string buffer(std::size_t{1} << 18U, '\0');
    for (;;) {
        const ssize_t size = ::read(fd, buffer.data(), buffer.size());
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0) {
            reason = std::strerror(errno);
            return {};
        }
        if (size == 0)
            return sha1.finish();
        sha1.update(std::string_view(buffer).substr(0, static_cast<std::size_t>(size)));
    }
}

}  // namespace

TegraRelease parse_tegra_release(std::string_view text) {
    TegraRelease found;
    const auto lines = lines_of(text);
    if (lines.empty())
        return found;
    const std::string_view first = trimmed(lines.front());
    if (first.starts_with("# R") && first.find("(release)") != std::string_view::npos) {
        found.release = trimmed(first.substr(3, first.find('(') - 3));
        found.revision = part_of(first, "REVISION");
        found.gcid = part_of(first, "GCID");
        found.board = part_of(first, "BOARD");
        found.date = part_of(first, "DATE");
    }
    if (is_number(found.release, false) && is_number(found.revision, true)) {
        const bool whole = !found.gcid.empty() && !found.board.empty();
        found.form = whole && parse_integer(found.release).value_or(0) >= 32
                         ? TegraRelease::Form::known
                         : TegraRelease::Form::old;
    } else {
        found.release.clear();
        found.revision.clear();
        found.problems.push_back("line 1: no '# R.. (release), REVISION: ..'");
    }
    for (std::size_t i = 1; i < lines.size(); ++i) {
        std::string_view line = trimmed(lines[i]);
        if (line.empty() || line.find('=') != std::string_view::npos)
            continue;  // TARGET_USERSPACE_LIB_DIR=nvidia and its like
        if (line.starts_with('#')) {
            if (std::string value = part_of(line, "KERNEL_VARIANT"); !value.empty())
                found.variant = std::move(value);
            continue;
        }
        const std::string_view hex = line.substr(0, line.find(' '));
        std::string_view path =
            line.size() > hex.size() ? trimmed(line.substr(hex.size())) : std::string_view();
        if (path.starts_with('*'))
            path.remove_prefix(1);
        if (is_hex(hex, 40) && !path.empty() && found.checksums.size() < most_checksums)
            found.checksums.emplace_back(hex, path);
        else if (found.problems.size() < 20)
            found.problems.push_back("line " + std::to_string(i + 1) + ": not understood");
    }
    return found;
}

Json probe_l4t(const Root& root, Unknown& unknown) {
    Json l4t = Json::object();
    const RootText text = root.text("/etc/nv_tegra_release");
    if (!unknown.note(text, "l4t"))
        return l4t;
    const TegraRelease found = parse_tegra_release(text.bytes);
    l4t["form"] = found.form == TegraRelease::Form::known ? "known"
                  : found.form == TegraRelease::Form::old ? "old"
                                                          : "unknown";
    l4t["digest"] = digest_of(text.bytes).text();
    for (const auto& [key, value] :
         {std::pair<const char*, const std::string&>{"release", found.release},
          {"revision", found.revision},
          {"gcid", found.gcid},
          {"board", found.board},
          {"date", found.date},
          {"variant", found.variant}})
        if (!value.empty())
            l4t[key] = value;
    if (found.form == TegraRelease::Form::unknown)
        unknown.add("l4t.release", "/etc/nv_tegra_release has a form that is not known");
    else if (!found.problems.empty())
        unknown.add("l4t.checksums", "/etc/nv_tegra_release, " + found.problems.front());
    if (found.checksums.empty())
        return l4t;
    std::int64_t right = 0;
    std::vector<std::string> wrong, unread;
    for (const auto& [hex, path] : found.checksums) {
        RootFile file = root.file(path);
        std::string reason;
        const std::string sum = file ? sha1_of(file.fd.get(), reason) : std::string();
        if (file.presence == Presence::absent)
            wrong.push_back(path + " (absent)");
        else if (sum.empty())
            unread.push_back(path);
        else if (sum != hex)
            wrong.push_back(path);
        else
            ++right;
    }
    l4t["checksums"] = Json::object({{"listed", static_cast<std::int64_t>(found.checksums.size())},
                                     {"right", right},
                                     {"wrong", text_array(wrong)},
                                     {"unread", text_array(unread)}});
    return l4t;
}

void Sha1::block(const unsigned char* bytes) {
    const auto rotated = [](std::uint32_t value, unsigned by) {
        return (value << by) | (value >> (32U - by));
    };
    std::uint32_t w[80];
    for (std::size_t i = 0; i < 16; ++i)
        w[i] = std::uint32_t{bytes[4 * i]} << 24U | std::uint32_t{bytes[4 * i + 1]} << 16U |
               std::uint32_t{bytes[4 * i + 2]} << 8U | std::uint32_t{bytes[4 * i + 3]};
    for (unsigned i = 16; i < 80; ++i)
        w[i] = rotated(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    std::uint32_t a = state_[0], b = state_[1], c = state_[2], d = state_[3], e = state_[4];
    for (unsigned i = 0; i < 80; ++i) {
        const std::uint32_t f = i < 20   ? (b & c) | (~b & d)
                                : i < 40 ? b ^ c ^ d
                                : i < 60 ? (b & c) | (b & d) | (c & d)
                                         : b ^ c ^ d;
        const std::uint32_t k = i < 20   ? 0x5a827999U
                                : i < 40 ? 0x6ed9eba1U
                                : i < 60 ? 0x8f1bbcdcU
                                         : 0xca62c1d6U;
        const std::uint32_t next = rotated(a, 5) + f + e + k + w[i];
        e = d;
        d = c;
        c = rotated(b, 30);
        b = a;
        a = next;
    }
    state_[0] += a;
    state_[1] += b;
    state_[2] += c;
    state_[3] += d;
    state_[4] += e;
}

void Sha1::update(std::string_view bytes) {
    size_ += bytes.size();
    if (!rest_.empty()) {
        const std::size_t taken = std::min(bytes.size(), 64 - rest_.size());
        rest_.append(bytes.substr(0, taken));
        bytes.remove_prefix(taken);
        if (rest_.size() < 64)
            return;
        block(reinterpret_cast<const unsigned char*>(rest_.data()));
        rest_.clear();
    }
    for (; bytes.size() >= 64; bytes.remove_prefix(64))
        block(reinterpret_cast<const unsigned char*>(bytes.data()));
    rest_ = bytes;
}

std::string Sha1::finish() {
    const std::uint64_t bits = size_ * 8;
    std::string end(1, '\x80');
    end.append((119 - rest_.size()) % 64, '\0');
    for (int shift = 56; shift >= 0; shift -= 8)
        end += static_cast<char>(bits >> static_cast<unsigned>(shift) & 0xffU);
    update(end);
    std::string hex;
    for (const std::uint32_t word : state_)
        for (int shift = 28; shift >= 0; shift -= 4)
            hex += "0123456789abcdef"[word >> static_cast<unsigned>(shift) & 0xfU];
    return hex;
}

}  // namespace requal::machine
