// Any bytes as COCO labels, as a CSV list and as a list file: a part, findings, or Error.
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "data/dataset.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const requal::TemporaryFolder folder("requal-labels");
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const char* name : {"/labels.json", "/labels.csv", "/list.txt"}) {
        const std::string path = folder.path() + name;
        // not atomically: a flush to the disk for each input would be all that the time goes into
        std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
        try {
            if (path.ends_with(".txt")) {
                requal::data::read_list(path);
                continue;
            }
            requal::data::DataSetSpec spec = requal::data::read_dataset_spec(path);
            for (const auto task :
                 {requal::data::Task::detection, requal::data::Task::classification}) {
                spec.task = task;
                requal::data::Findings findings;
                const requal::data::DataPart part =
                    requal::data::read_part(spec, spec.parts.front(), findings);
                for (std::size_t i = 0; i < part.samples.size(); ++i) {
                    part.objects_of(i);
                }
            }
        } catch (const requal::Error&) {
        }
    }
    return 0;
}
