#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include "base/cancel.h"
#include "support.h"
#include "toolchain/frame.h"

namespace requal::toolchain {
namespace {

struct Pipe {
    FileDescriptor read_end;
    FileDescriptor write_end;
    Pipe() {
        std::array<int, 2> ends{};
        if (pipe2(ends.data(), O_CLOEXEC) == 0) {
            read_end.reset(ends[0]);
            write_end.reset(ends[1]);
        }
    }
};

/// Gives `bytes` to a channel, then end of input.
class Received {
public:
    explicit Received(std::string_view bytes, FrameLimits limits = {})
        : file_(memfd_create("frames", MFD_CLOEXEC)), channel_(file_.get(), -1, limits) {
        write_all(file_.get(), std::as_bytes(std::span(bytes)), "memfd");
        lseek(file_.get(), 0, SEEK_SET);
    }
    std::optional<Message> next() { return channel_.receive(1'000'000'000); }

private:
    FileDescriptor file_;
    FrameChannel channel_;
};

std::string frame(const std::string& header, const std::vector<std::string>& blobs = {}) {
    std::string bytes = "RQF1";
    const auto put = [&](std::uint64_t value, int count) {
        for (int i = 0; i < count; ++i) {
            bytes.push_back(static_cast<char>(static_cast<unsigned char>(value >> (8 * i))));
        }
    };
    put(header.size(), 4);
    put(blobs.size(), 4);
    for (const std::string& blob : blobs) {
        put(blob.size(), 8);
    }
    bytes += header;
    for (const std::string& blob : blobs) {
        bytes += blob;
    }
    return bytes;
}

TEST(Frame, GoesThroughAPipeUnchanged) {
    Pipe pipe;
    Message sent;
    sent.header = Json::object({{"type", "run"}, {"id", 7}});
    sent.blobs = {"", std::string(300'000, 'b'), std::string("\0\n", 2)};
    std::thread writer([&] {
        FrameChannel(-1, pipe.write_end.get()).send(sent);
        FrameChannel(-1, pipe.write_end.get()).send(sent);
        pipe.write_end.reset();
    });
    FrameChannel channel(pipe.read_end.get(), -1);
    for (int i = 0; i < 2; ++i) {
        const auto message = channel.receive();
        ASSERT_TRUE(message.has_value());
        EXPECT_EQ(message->header, sent.header);
        EXPECT_EQ(message->blobs, sent.blobs);
    }
    EXPECT_FALSE(channel.receive().has_value());
    writer.join();
}

TEST(Frame, HasTheBytesOfTheDocumentation) {
    Pipe pipe;
    Message sent;
    sent.header = Json::object({{"id", 1}, {"type", "stop"}});
    sent.blobs = {"ab"};
    FrameChannel(-1, pipe.write_end.get()).send(sent);
    std::array<char, 256> bytes{};
    const ssize_t size = read(pipe.read_end.get(), bytes.data(), bytes.size());
    ASSERT_GT(size, 0);
    EXPECT_EQ(std::string(bytes.data(), static_cast<std::size_t>(size)),
              frame(R"({"id":1,"type":"stop"})", {"ab"}));
}

TEST(Frame, RefusesGarbage) {
    EXPECT_ERROR(error_of([] { Received("Warning: hello\nRQF1").next(); }), ErrorKind::toolchain,
                 "\"Warning: hello\" where a frame begins");
    // Garbage that is shorter than a frame's prefix is seen at once, without waiting for more.
    EXPECT_ERROR(error_of([] { Received("x").next(); }), ErrorKind::toolchain,
                 "where a frame begins");
    EXPECT_ERROR(error_of([] { Received("RQF2............").next(); }), ErrorKind::toolchain,
                 "where a frame begins");
}

TEST(Frame, RefusesTornFrames) {
    const std::string whole = frame(R"({"type":"run"})", {"abcdef"});
    for (std::size_t size = 1; size < whole.size(); ++size) {
        EXPECT_ERROR(error_of([&] { Received(whole.substr(0, size)).next(); }),
                     ErrorKind::toolchain, "breaks off");
    }
    Received complete(whole);
    EXPECT_TRUE(complete.next().has_value());
    EXPECT_FALSE(complete.next().has_value());
}

TEST(Frame, RefusesFloodsBeforeAllocating) {
    FrameLimits limits;
    limits.json_bytes = 64;
    limits.attachment_bytes = 100;
    limits.attachments = 2;
    EXPECT_ERROR(error_of([&] { Received(frame(std::string(65, ' ')), limits).next(); }),
                 ErrorKind::toolchain, "announces a header of 65 bytes");
    EXPECT_ERROR(error_of([&] {
                     Received(frame(R"({"type":"a"})", {"", "", ""}), limits).next();
                 }),
                 ErrorKind::toolchain, "announces 3 attachments");
    EXPECT_ERROR(
        error_of([&] {
            Received(frame(R"({"type":"a"})", {std::string(60, 'x'), std::string(41, 'x')}), limits)
                .next();
        }),
        ErrorKind::toolchain, "attachments of more than 100 bytes");
    // Two sizes whose sum wraps around.
    std::string wrapping = "RQF1";
    wrapping += std::string("\x02\0\0\0\x02\0\0\0", 8) + std::string(8, '\xff') +
                std::string(8, '\xff') + "{}";
    EXPECT_ERROR(error_of([&] { Received(wrapping).next(); }), ErrorKind::toolchain,
                 "attachments of more");
    // A size that is allowed but never comes costs no memory: 32 GiB are announced here.
    std::string promised = "RQF1";
    promised += std::string("\x0c\0\0\0\x01\0\0\0\0\0\0\0\x08\0\0\0", 16) + R"({"type":"a"})";
    EXPECT_ERROR(error_of([&] { Received(promised).next(); }), ErrorKind::toolchain,
                 "breaks off: 0 of 34359738368 bytes");
}

TEST(Frame, RefusesHeadersThatAreNone) {
    for (const char* header : {"", "{", "[]", "{}", R"({"type":1})", R"({"type":"a","type":"b"})",
                               "{\"type\":\"\xff\"}", R"({"type":"a"} x)"}) {
        EXPECT_ERROR(error_of([&] { Received(frame(header)).next(); }), ErrorKind::toolchain,
                     "breaks the runner protocol");
    }
    const std::string deep =
        R"({"type":"a","x":)" + std::string(100, '[') + std::string(100, ']') + "}";
    EXPECT_ERROR(error_of([&] { Received(frame(deep)).next(); }), ErrorKind::toolchain,
                 "breaks the runner protocol");
}

TEST(Frame, ReceivingEndsAtTheDeadline) {
    Pipe pipe;
    FrameChannel channel(pipe.read_end.get(), -1);
    EXPECT_ERROR(error_of([&] { channel.receive(20'000'000); }), ErrorKind::toolchain,
                 "gives no answer within 20 ms");
    // Also in the middle of a frame.
    const std::string part = frame(R"({"type":"run"})", {"abc"}).substr(0, 30);
    write_all(pipe.write_end.get(), std::as_bytes(std::span(part)), "pipe");
    EXPECT_ERROR(error_of([&] { channel.receive(20'000'000); }), ErrorKind::toolchain,
                 "gives no answer");
}

TEST(Frame, SendingEndsAtTheDeadlineAndWhenThePeerIsGone) {
    std::signal(SIGPIPE, SIG_IGN);
    Pipe pipe;
    Message large;
    large.header = Json::object({{"type", "run"}});
    large.blobs = {std::string(1 << 20, 'x')};
    FrameChannel channel(-1, pipe.write_end.get(), {}, Watch{[] {}, 1'000'000, -1});
    EXPECT_ERROR(error_of([&] { channel.send(large, 20'000'000); }), ErrorKind::toolchain,
                 "takes no request within 20 ms");
    pipe.read_end.reset();
    EXPECT_ERROR(error_of([&] { channel.send(large, -1); }), ErrorKind::toolchain,
                 "closed its input");
}

TEST(Frame, TheWatchIsLookedAfterWhileWaiting) {
    Pipe pipe;
    int looked = 0;
    FrameChannel channel(pipe.read_end.get(), pipe.write_end.get(), {},
                         Watch{[&] {
                                   if (++looked == 3) {
                                       throw Error(ErrorKind::interrupted, "enough");
                                   }
                               },
                               1'000'000, -1});
    EXPECT_ERROR(error_of([&] { channel.receive(-1); }), ErrorKind::interrupted, "enough");
    EXPECT_EQ(looked, 3);
}

TEST(Frame, AReadableWakeDescriptorThatMeansNothingIsNotSpunOn) {
    Pipe pipe;
    Pipe wake;
    const std::string byte = "x";
    write_all(wake.write_end.get(), std::as_bytes(std::span(byte)), "pipe");
    int looked = 0;
    FrameChannel channel(pipe.read_end.get(), pipe.write_end.get(), {},
                         Watch{[&] { ++looked; }, 10'000'000, wake.read_end.get()});
    EXPECT_ERROR(error_of([&] { channel.receive(50'000'000); }), ErrorKind::toolchain, "no answer");
    EXPECT_LT(looked, 20);
}

// --- shared memory ---

TEST(SharedRegion, GrowsForBothSidesAndNeverUnderATensor) {
    const auto mine = SharedRegion::create(10);
    const auto theirs = SharedRegion::attach(mine->fd());
    mine->bytes()[5] = std::byte{42};
    EXPECT_EQ(theirs->bytes()[5], std::byte{42});
    const auto before = theirs->bytes();
    const auto keeper = theirs->keeper();
    mine->grow(5'000'000);
    theirs->refresh();
    EXPECT_GE(theirs->bytes().size(), 5'000'000U);
    EXPECT_EQ(before[5], std::byte{42}) << "the old mapping is kept alive by its keeper";
}

TEST(SharedRegion, CannotBeShrunkByThePeer) {
    const auto region = SharedRegion::create(1 << 20);
    EXPECT_EQ(ftruncate(region->fd(), 0), -1);
    EXPECT_EQ(errno, EPERM);
}

TEST(SharedRegion, RefusesAbsurdSizes) {
    const auto region = SharedRegion::create(1);
    EXPECT_ERROR(error_of([&] { region->grow(std::uint64_t{1} << 40); }), ErrorKind::input,
                 "too large");
    ASSERT_EQ(ftruncate(region->fd(), off_t{1} << 40), 0);
    EXPECT_ERROR(error_of([&] { region->refresh(); }), ErrorKind::toolchain, "floods");
    EXPECT_ERROR(error_of([] { SharedRegion::attach(9999); }), ErrorKind::storage, "descriptor");
}

// --- tensors ---

NamedTensors all_types() {
    NamedTensors tensors;
    for (int i = 0; i <= static_cast<int>(ElementType::complex128); ++i) {
        const auto type = static_cast<ElementType>(i);
        Tensor tensor(type, {2, 3});
        if (type == ElementType::string) {
            tensor.strings() = {"a", "", std::string("n\0l", 3), "\xff\xfe", "ä", "last"};
        } else {
            auto bytes = tensor.mutable_bytes();
            for (std::size_t b = 0; b < bytes.size(); ++b) {
                bytes[b] =
                    type == ElementType::boolean ? std::byte(b % 2) : std::byte((b * 7 + 1) % 120);
            }
        }
        tensors.emplace_back(std::string(name_of(type)), std::move(tensor));
    }
    Tensor scalar(ElementType::int64, {});
    scalar.mutable_values<std::int64_t>()[0] = 5;
    tensors.emplace_back("scalar", scalar);
    tensors.emplace_back("empty", Tensor(ElementType::float32, {0, 7}));
    return tensors;
}

void expect_same(const NamedTensors& left, const NamedTensors& right) {
    ASSERT_EQ(left.size(), right.size());
    for (std::size_t i = 0; i < left.size(); ++i) {
        SCOPED_TRACE(left[i].first);
        EXPECT_EQ(left[i].first, right[i].first);
        EXPECT_EQ(left[i].second.type(), right[i].second.type());
        EXPECT_EQ(left[i].second.shape(), right[i].second.shape());
        EXPECT_EQ(left[i].second.strings(), right[i].second.strings());
        const auto a = left[i].second.bytes();
        const auto b = right[i].second.bytes();
        EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
    }
}

TEST(TensorsOnWire, EveryTypeComesBackThroughAttachments) {
    const NamedTensors tensors = all_types();
    Message message;
    attach_tensors(message, tensors, nullptr);
    EXPECT_EQ(message.blobs.size(), tensors.size());
    expect_same(detach_tensors(message, nullptr), tensors);
}

TEST(TensorsOnWire, EveryTypeComesBackThroughSharedMemory) {
    const NamedTensors tensors = all_types();
    const auto mine = SharedRegion::create(1);
    const auto theirs = SharedRegion::attach(mine->fd());
    Message message;
    attach_tensors(message, tensors, mine.get());
    EXPECT_TRUE(message.blobs.empty());
    expect_same(detach_tensors(message, theirs), tensors);
}

TEST(TensorsOnWire, TensorsBorrowSharedMemoryUntilItIsWrittenAgain) {
    const auto region = SharedRegion::create(1);
    Message first;
    attach_tensors(first, {{"x", ramp({4}, 1, 0)}}, region.get());
    const NamedTensors borrowed = detach_tensors(first, region);
    EXPECT_EQ(floats(borrowed, "x"), std::vector<float>(4, 1.0F));
    Message second;
    attach_tensors(second, {{"x", ramp({4}, 2, 0)}}, region.get());
    EXPECT_EQ(floats(borrowed, "x"), std::vector<float>(4, 2.0F));
    region->grow(std::uint64_t{64} << 20);
    EXPECT_EQ(floats(borrowed, "x"), std::vector<float>(4, 2.0F))
        << "growing leaves borrowed bytes in place";
}

Message one_entry(const std::string& entry, std::vector<std::string> blobs = {}) {
    Message message;
    message.header = Json::object();
    message.header["tensors"] = parse_json("[" + entry + "]", "test");
    message.blobs = std::move(blobs);
    return message;
}

TEST(TensorsOnWire, RefusesEntriesThatLie) {
    const auto region = SharedRegion::create(1 << 20);
    const std::uint64_t size = region->bytes().size();
    const std::string end = std::to_string(size);
    for (
        const std::string& entry : {
            std::string(R"({})"),
            std::string(R"({"name":1})"),
            std::string(R"({"name":"x","type":"float33","shape":[1],"offset":0,"size_bytes":4})"),
            std::string(R"({"name":"x","type":"float32","shape":[1],"offset":0,"size_bytes":8})"),
            std::string(R"({"name":"x","type":"float32","shape":[1],"offset":4,"size_bytes":4})"),
            std::string(R"({"name":"x","type":"float32","shape":[1],"offset":-64,"size_bytes":4})"),
            std::string(R"({"name":"x","type":"float32","shape":[1],"offset":0,"size_bytes":-4})"),
            std::string(R"({"name":"x","type":"float32","shape":[1],"offset":)") + end +
                R"(,"size_bytes":4})",
            std::string(
                R"({"name":"x","type":"float32","shape":[1],"offset":9223372036854775744,"size_bytes":4})"),
            std::string(R"({"name":"x","type":"float32","shape":[-1],"offset":0,"size_bytes":4})"),
            std::string(
                R"({"name":"x","type":"float32","shape":[4294967296,4294967296,16],"offset":0,"size_bytes":0})"),
            std::string(R"({"name":"x","type":"float32","shape":"1x3","offset":0,"size_bytes":4})"),
            std::string(R"({"name":"x","type":"float32","shape":[1]})"),
            std::string(R"({"name":"x","type":"float32","shape":[1],"blob":0})"),
            std::string(R"({"name":"x","type":"float32","shape":[1],"blob":-1})"),
            std::string(R"({"name":"x","type":"string","shape":[2],"offset":0,"size_bytes":4})"),
            std::string(
                R"({"name":"x","type":"string","shape":[2],"offset":0,"size_bytes":4,"lengths":[1]})"),
            std::string(
                R"({"name":"x","type":"string","shape":[2],"offset":0,"size_bytes":4,"lengths":[1,-1]})"),
            std::string(
                R"({"name":"x","type":"string","shape":[2],"offset":0,"size_bytes":4,"lengths":[1,9]})"),
            std::string(
                R"({"name":"x","type":"string","shape":[2],"offset":0,"size_bytes":4,"lengths":[1,1]})"),
            std::string(
                R"({"name":"x","type":"string","shape":[4000000000],"offset":0,"size_bytes":4,"lengths":[]})"),
            std::string(R"({"name":"x","type":"float32","shape":[1],"offset":0,"size_bytes":4},)"
                        R"({"name":"x","type":"float32","shape":[1],"offset":0,"size_bytes":4})"),
        }) {
        SCOPED_TRACE(entry);
        EXPECT_ERROR(error_of([&] { detach_tensors(one_entry(entry), region); }),
                     ErrorKind::toolchain, "breaks the runner protocol");
    }
    EXPECT_ERROR(
        error_of([&] {
            detach_tensors(
                one_entry(R"({"name":"x","type":"float32","shape":[1],"offset":0,"size_bytes":4})"),
                nullptr);
        }),
        ErrorKind::toolchain, "there is none");
}

TEST(TensorsOnWire, RefusesAttachmentsThatAreNotWhatTheHeaderSays) {
    Message good;
    attach_tensors(good, {{"x", ramp({2, 2})}}, nullptr);
    const std::string& blob = good.blobs.front();
    EXPECT_ERROR(error_of([&] {
                     detach_tensors(
                         one_entry(R"({"name":"x","type":"float32","shape":[4],"blob":0})", {blob}),
                         nullptr);
                 }),
                 ErrorKind::toolchain, "announced was float32 4");
    EXPECT_ERROR(error_of([&] {
                     detach_tensors(
                         one_entry(R"({"name":"x","type":"int32","shape":[2,2],"blob":0})", {blob}),
                         nullptr);
                 }),
                 ErrorKind::toolchain, "announced was int32");
    EXPECT_ERROR(error_of([&] {
                     detach_tensors(
                         one_entry(R"({"name":"x","type":"float32","shape":[2,2],"blob":0})",
                                   {blob.substr(0, blob.size() - 1)}),
                         nullptr);
                 }),
                 ErrorKind::toolchain, "breaks the runner protocol");
}

}  // namespace
}  // namespace requal::toolchain
