// What the data room makes of single files, for tests written in other languages. Jobs are lines of stdin, words divided by tabs:
//   preprocess SPEC PICTURE OUT.npy     PICTURE may be .npy: pixels, height x width x 3, uint8
//   pixels PICTURE OUT.npy              decoded, turned upright
//   decode SPEC OUTPUTS.npz PLACEMENT OUT.json      PLACEMENT: eight numbers divided by commas
//   time SPEC PICTURE SECONDS           milliseconds of processor time for decoding and preprocessing one picture from memory, the median
// One line a job: "ok" with the placement, or "error" with kind and text.
#include <algorithm>
#include <ctime>
#include <iostream>
#include <span>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "data/decoder.h"
#include "data/preprocess.h"
#include "tensor/npy.h"

namespace {

using namespace requal;

data::Picture pixels_of(const std::string& path, const data::PictureRules& rules) {
    if (!path.ends_with(".npy")) {
        return data::read_picture(path, rules);
    }
    const Tensor tensor = read_npy_file(path);
    data::Picture picture;
    picture.height = tensor.shape().at(0);
    picture.width = tensor.shape().at(1);
    const auto values = tensor.values<std::uint8_t>();
    picture.rgb.assign(values.begin(), values.end());
    return picture;
}

/// Of this thread: what a picture costs a core, whoever else wants it.
double processor_ms() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

std::string run(const std::vector<std::string>& words) {
    if (words.at(0) == "preprocess") {
        const data::PreprocessSpec spec = data::read_preprocess(words.at(1));
        const data::PreparedInput ready =
            data::preprocess(pixels_of(words.at(2), spec.rules), spec, words.at(2));
        write_npy_file(words.at(3), ready.tensor);
        const data::Placement& p = ready.placement;
        std::ostringstream text;
        text << p.picture_width << ',' << p.picture_height << ',' << p.new_width << ','
             << p.new_height << ',' << p.left << ',' << p.top << ',' << p.input_width << ','
             << p.input_height;
        return text.str();
    }
    if (words.at(0) == "pixels") {
        const data::Picture picture = data::read_picture(words.at(1), {});
        Tensor tensor(ElementType::uint8, {picture.height, picture.width, 3});
        const auto target = tensor.mutable_values<std::uint8_t>();
        std::copy(picture.rgb.begin(), picture.rgb.end(), target.begin());
        write_npy_file(words.at(2), tensor);
        return data::resizer_version();
    }
    if (words.at(0) == "time") {
        const data::PreprocessSpec spec = data::read_preprocess(words.at(1));
        const std::string bytes = read_file(words.at(2));
        std::vector<double> times;
        const double end = 1000 * std::stod(words.at(3));
        double passed = 0;
        while (times.empty() || passed < end) {
            const double start = processor_ms();
            const data::PreparedInput ready = data::preprocess(
                data::decode_picture(std::as_bytes(std::span(bytes)), spec.rules, "picture"), spec,
                "picture");
            times.push_back(processor_ms() - start);
            passed += times.back();
        }
        std::nth_element(times.begin(),
                         times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                         times.end());
        return std::to_string(times[times.size() / 2]);
    }
    if (words.at(0) == "decode") {
        std::vector<std::int64_t> n;
        std::istringstream numbers(words.at(3));
        for (std::string number; std::getline(numbers, number, ',');) {
            n.push_back(std::stoll(number));
        }
        const data::Placement placement{n.at(0), n.at(1), n.at(2), n.at(3),
                                        n.at(4), n.at(5), n.at(6), n.at(7)};
        data::ResultsWriter writer(words.at(4));
        writer.add(1, data::decode(read_npz_file(words.at(2)), data::read_decoder(words.at(1)),
                                   placement));
        writer.commit();
        return "";
    }
    throw Error(ErrorKind::usage, "no such job");
}

}  // namespace

int main() {
    for (std::string line; std::getline(std::cin, line);) {
        std::vector<std::string> words;
        std::istringstream parts(line);
        for (std::string word; std::getline(parts, word, '\t');) {
            words.push_back(word);
        }
        try {
            const std::string text = run(words);
            std::cout << "ok\t" << text << std::endl;
        } catch (const Error& error) {
            std::cout << "error\t" << name_of(error.kind()) << '\t' << error.what() << std::endl;
        }
    }
    return 0;
}
