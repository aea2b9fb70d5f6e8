#include "base/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace requal {
namespace {

/// One for the process: lines of several threads do not mix, and a line removes
/// the bar first.
struct Terminal {
    std::mutex mutex;
    Output output;
    bool events_broken = false;
    bool bar_visible = false;
    const void* bar_owner = nullptr;  ///< the outermost Progress; those inside it only emit events
};

Terminal& terminal() {
    static Terminal instance;
    return instance;
}

bool stderr_is_terminal() {
    const char* kind = std::getenv("TERM");
    return ::isatty(STDERR_FILENO) == 1 && (kind == nullptr || std::strcmp(kind, "dumb") != 0);
}

bool colours() {
    const char* no_colour = std::getenv("NO_COLOR");
    return stderr_is_terminal() && (no_colour == nullptr || *no_colour == '\0');
}

std::size_t terminal_columns() {
    winsize size{};
    if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col;
}

/// What cannot be written to stderr is lost: there is no other place to say so.
void write_stderr(std::string_view text) noexcept {
    try {
        write_all(STDERR_FILENO, std::as_bytes(std::span(text.data(), text.size())),
                  "standard error");
    } catch (const Error&) {
    }
}

/// The caller holds the mutex.
void hide_bar(Terminal& to) {
    if (!to.bar_visible)
        return;
    write_stderr("\r\x1b[K");
    to.bar_visible = false;
}

void log_line(std::string_view prefix, std::string_view colour, std::string_view text) {
    std::string line;
    if (!prefix.empty()) {
        const bool coloured = colours() && !colour.empty();
        if (coloured)
            line += colour;
        line += prefix;
        if (coloured)
            line += "\x1b[0m";
    }
    line += printable(text);
    line += '\n';
    Terminal& to = terminal();
    const std::lock_guard lock(to.mutex);
    hide_bar(to);
    write_stderr(line);
}

/// At most `columns` characters, cut between characters.
std::string cut(const std::string& text, std::size_t columns) {
    std::size_t characters = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if ((static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U)
            continue;
        if (characters++ == columns)
            return text.substr(0, i);
    }
    return text;
}

}  // namespace

void set_output(const Output& output) {
    Terminal& to = terminal();
    const std::lock_guard lock(to.mutex);
    to.output = output;
    to.events_broken = false;
}

const Output& output() {
    return terminal().output;
}

void log_info(std::string_view text) {
    if (!output().quiet)
        log_line("", "", text);
}

void log_warning(std::string_view text) {
    if (!output().quiet)
        log_line("warning: ", "\x1b[33m", text);
}

void log_detail(std::string_view text) {
    if (output().verbose && !output().quiet)
        log_line("", "", text);
}

void emit_event(std::string_view name, Json members) {
    Terminal& to = terminal();
    if (to.output.events_fd < 0)
        return;
    members["event"] = name;
    const std::string line = write_json_compact(members) + "\n";
    {
        const std::lock_guard lock(to.mutex);
        if (to.events_broken)
            return;
        try {
            write_all(to.output.events_fd, std::as_bytes(std::span(line.data(), line.size())),
                      "events");
            return;
        } catch (const Error&) {
            to.events_broken = true;
        }
    }
    // Whoever watches the work must not be able to stop it.
    log_warning("events can no longer be written: no further ones are sent");
}

struct Progress::State {
    std::string name;
    std::uint64_t total = 0;
    std::uint64_t done = 0;
    std::int64_t started_ns = 0;
    std::int64_t drawn_ns = 0;
    std::int64_t emitted_ns = 0;
    bool draws = false;

    double seconds_left(std::int64_t now) const {
        if (done == 0 || done >= total)
            return done >= total ? 0.0 : std::nan("");
        const double elapsed = static_cast<double>(now - started_ns) * 1e-9;
        return elapsed * static_cast<double>(total - done) / static_cast<double>(done);
    }

    void draw(std::int64_t now) {
        const std::uint64_t percent =
            total == 0 ? 100
                       : static_cast<std::uint64_t>(100.0 * static_cast<double>(done) /
                                                    static_cast<double>(total));
        std::string line = name + " " + std::to_string(done) + "/" + std::to_string(total) + " " +
                           std::to_string(std::min<std::uint64_t>(percent, 100)) + " %";
        const double left = seconds_left(now);
        // Whole seconds: digits that change with every drawing say nothing.
        if (std::isfinite(left))
            line += " " + readable_seconds(std::ceil(left)) + " left";
        Terminal& to = terminal();
        const std::lock_guard lock(to.mutex);
        write_stderr("\r" + cut(line, terminal_columns() - 1) + "\x1b[K");
        to.bar_visible = true;
        drawn_ns = now;
    }

    void emit(std::int64_t now) {
        Json members = Json::object({{"name", name}, {"done", done}, {"total", total}});
        members.set_number("left_s", seconds_left(now));
        emit_event("progress", std::move(members));
        emitted_ns = now;
    }
};

Progress::Progress(std::string_view name, std::uint64_t total) : state_(std::make_unique<State>()) {
    state_->name = printable(name);
    state_->total = total;
    state_->started_ns = system_clock().monotonic_ns();
    Terminal& to = terminal();
    {
        const std::lock_guard lock(to.mutex);
        if (to.bar_owner == nullptr && to.output.progress && !to.output.quiet &&
            stderr_is_terminal()) {
            to.bar_owner = this;
            state_->draws = true;
        }
    }
    state_->emit(state_->started_ns);
}

Progress::~Progress() {
    Terminal& to = terminal();
    if (state_->draws) {
        const std::lock_guard lock(to.mutex);
        hide_bar(to);
        to.bar_owner = nullptr;
    }
    try {
        state_->emit(system_clock().monotonic_ns());
    } catch (...) {  // no memory for one more event
    }
}

void Progress::advance(std::uint64_t steps) {
    state_->done += steps;
    const std::int64_t now = system_clock().monotonic_ns();
    if (state_->draws && now - state_->drawn_ns >= 100'000'000)
        state_->draw(now);
    if (now - state_->emitted_ns >= 1'000'000'000)
        state_->emit(now);
}

}  // namespace requal
