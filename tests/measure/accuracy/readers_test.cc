// What the readers of labelled sets and predictions refuse, by file and record.
#include <cmath>
#include <fstream>
#include <functional>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "measure/accuracy/classification.h"
#include "measure/accuracy/labelled_boxes.h"
#include "tensor/npy.h"

namespace requal::measure {
namespace {

class Readers : public ::testing::Test {
protected:
    std::string file(const std::string& name, const std::string& text) {
        const std::string path = folder_.path() + "/" + name;
        std::ofstream(path, std::ios::binary) << text;
        return path;
    }
    LabelledBoxes set(const std::string& annotations) {
        return read_coco_annotations(
            file("gt.json", R"({"images": [{"id": 1}, {"id": 5, "file_name": "five.png"}],
 "categories": [{"id": 3, "name": "screw"}, {"id": 9, "name": "nut"}], "annotations": )" +
                                annotations + "}"));
    }
    DetectedBoxes results(const std::string& text) {
        return read_coco_results(file("dt.json", text), set("[]"));
    }
    ClassPredictions classes(const std::string& text, ScoreKind kind = ScoreKind::any) {
        ClassLabels labels =
            read_class_labels(file("labels.csv", "sample,label\na,cat\nb,dog\nc,cat\n"));
        return read_class_predictions(file("pred.csv", text), labels, kind);
    }

    /// The whole line of the error that `work` ends with, without the folder's name.
    std::string error_of(const std::function<void()>& work) {
        try {
            work();
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::input);
            std::string line = error.what();
            const std::size_t at = line.find(folder_.path() + "/");
            return at == std::string::npos ? line : line.erase(at, folder_.path().size() + 1);
        }
        return "no error";
    }
    void annotations_fail(const std::string& text, const std::string& expected) {
        const std::string line = error_of([&] { set(text); });
        EXPECT_EQ(line.substr(0, expected.size()), expected) << text;
    }
    void results_fail(const std::string& text, const std::string& expected) {
        const std::string line = error_of([&] { results(text); });
        EXPECT_EQ(line.substr(0, expected.size()), expected) << text;
    }
    void classes_fail(const std::string& text, const std::string& expected,
                      ScoreKind kind = ScoreKind::any) {
        const std::string line = error_of([&] { classes(text, kind); });
        EXPECT_EQ(line.substr(0, expected.size()), expected) << text;
    }

    TemporaryFolder folder_;
};

TEST_F(Readers, AnnotationsAreOrderedAndKeepTheirAttributes) {
    const LabelledBoxes boxes = set(R"([
 {"id": 7, "image_id": 5, "category_id": 9, "bbox": [1, 2, 3, 4], "area": 11.5, "iscrowd": 1, "distance_m": 12.5},
 {"id": 2, "image_id": 1, "category_id": 9, "bbox": [0, 0, 10, 10], "attributes": {"worn": true, "light": "dim", "tilt": 4}},
 {"id": 4, "image_id": 5, "category_id": 3, "bbox": [0, 0, 2, 2], "tags": ["wet"], "segmentation": [[1, 2, 3, 4]]}])");
    ASSERT_EQ(boxes.boxes.size(), 3U);
    EXPECT_EQ(boxes.boxes[0].id, 4);
    EXPECT_EQ(boxes.boxes[1].id, 2);
    EXPECT_EQ(boxes.boxes[2].id, 7);
    EXPECT_TRUE(boxes.boxes[2].crowd);
    EXPECT_EQ(boxes.boxes[2].area, 11.5);
    EXPECT_EQ(boxes.boxes[1].area, 100);
    EXPECT_EQ(boxes.areas_from_boxes, 2U);
    EXPECT_EQ(boxes.images[1].name, "five.png");
    EXPECT_EQ(boxes.box_attributes.values("distance_m", 3)[2], 12.5);
    EXPECT_EQ(boxes.box_attributes.values("tilt", 3)[1], 4);
    EXPECT_EQ(boxes.box_attributes.has_tag("worn", 3)[1], 1);
    EXPECT_EQ(boxes.box_attributes.has_tag("light=dim", 3)[1], 1);
    EXPECT_EQ(boxes.box_attributes.has_tag("wet", 3)[0], 1);
    EXPECT_TRUE(boxes.box_attributes.values("nothing", 3).empty());
}

TEST_F(Readers, BadAnnotationsAreNamed) {
    annotations_fail(R"([{"id": 1, "image_id": 2, "category_id": 3, "bbox": [0, 0, 1, 1]}])",
                     "gt.json: annotation 0: image_id 2 is no image of the file");
    annotations_fail(R"([{"id": 1, "image_id": 1, "category_id": 4, "bbox": [0, 0, 1, 1]}])",
                     "gt.json: annotation 0: category_id 4 is no category of the file");
    annotations_fail(R"([{"id": 1, "image_id": 1, "category_id": 3, "bbox": [0, 0, 1, 1]},
 {"id": 1, "image_id": 1, "category_id": 3, "bbox": [0, 0, 1, 1]}])",
                     "gt.json: annotation 1: id 1 stands twice (first at annotation 0)");
    annotations_fail(R"([{"id": 1, "image_id": 1, "category_id": 3, "bbox": [0, 0, -1, 1]}])",
                     "gt.json: annotation 0: 'bbox' has a negative size (-1 x 1)");
    annotations_fail(R"([{"id": 1, "image_id": 1, "category_id": 3, "bbox": [0, 0, 1]}])",
                     "gt.json: annotation 0: 'bbox' does not hold four numbers");
    annotations_fail(R"([{"id": 1, "image_id": 1, "category_id": 3, "bbox": [0, 0, 1, 1, 1]}])",
                     "gt.json: annotation 0: 'bbox' does not hold four numbers");
    annotations_fail(R"([{"id": 1, "image_id": 1, "category_id": 3}])",
                     "gt.json: annotation 0: key 'bbox' is missing");
    annotations_fail(R"([{"id": "x", "image_id": 1, "category_id": 3, "bbox": [0, 0, 1, 1]}])",
                     "gt.json: annotation 0: 'id' is \"x\", not an integer");
    annotations_fail(
        R"([{"id": 1, "id": 2, "image_id": 1, "category_id": 3, "bbox": [0, 0, 1, 1]}])",
        "gt.json: annotation 0: key 'id' stands twice");
    annotations_fail(
        R"([{"id": 1, "image_id": 1, "category_id": 3, "bbox": [0, 0, 1, 1], "iscrowd": 2}])",
        "gt.json: annotation 0: 'iscrowd' is neither 0 nor 1");
    annotations_fail(R"([{"id": 1, "image_id": 1, "category_id": 3, "bbox": [1e999, 0, 1, 1]}])",
                     "gt.json: annotation 0: 'bbox' is 1e999, not a finite number");
    annotations_fail(R"([{"id": 1, "image_id": 1, "category_id": 3, "bbox": [0, 0, 1, 1)",
                     "gt.json: ");
    annotations_fail("7", "gt.json: 'annotations' is no array");
    annotations_fail("[7]", "gt.json: annotation 0: not an object");
}

TEST_F(Readers, BadSetsAreNamed) {
    const auto whole = [&](const std::string& text, const std::string& expected) {
        const std::string line = error_of([&] { read_coco_annotations(file("gt.json", text)); });
        EXPECT_EQ(line.substr(0, expected.size()), expected) << text;
    };
    whole(R"({"images": [{"id": 4}, {"id": 4}], "categories": [], "annotations": []})",
          "gt.json: image 1: image id 4 stands twice (first at image 0)");
    whole(R"({"images": [], "categories": [{"id": 1}, {"id": 1}], "annotations": []})",
          "gt.json: category id 1 stands twice");
    whole(
        R"({"images": [], "categories": [{"id": 1, "name": "a"}, {"id": 2, "name": "a"}], "annotations": []})",
        "gt.json: two categories are called 'a'");
    whole(R"({"images": [], "annotations": []})", "gt.json: key 'categories' is missing");
    whole(R"({"images": [], "images": []})", "gt.json: key 'images' stands twice");
    whole(R"([])", "gt.json: no JSON object");
    whole("", "gt.json: ");
    whole(R"({"images": [], "categories": [], "annotations": []} {})",
          "gt.json: text follows the JSON document");
    whole("{\"images\": [{\"id\": 1, \"file_name\": \"\xff\"}]}", "gt.json: ");
}

TEST_F(Readers, EveryCutOfAFileIsRefused) {
    const std::string text =
        R"({"images": [{"id": 1, "tags": ["x"]}], "categories": [{"id": 3, "name": "screw"}],
 "annotations": [{"id": 1, "image_id": 1, "category_id": 3, "bbox": [0, 0.5, 1, 1], "d": {"e": [1]}}]})";
    EXPECT_NO_THROW(read_coco_annotations(file("gt.json", text)));
    for (std::size_t cut = 0; cut < text.size(); ++cut) {
        EXPECT_THROW(read_coco_annotations(file("gt.json", text.substr(0, cut))), Error)
            << text.substr(0, cut);
    }
}

TEST_F(Readers, ResultsAreOrderedByScoreAndKeepTheOrderOfEqualOnes) {
    const DetectedBoxes boxes = results(R"([
 {"image_id": 1, "category_id": 9, "bbox": [1, 0, 1, 1], "score": 0.5},
 {"image_id": 1, "category_id": 3, "bbox": [2, 0, 1, 1], "score": 0.25},
 {"image_id": 1, "category_id": 9, "bbox": [3, 0, 1, 1], "score": 0.75},
 {"image_id": 1, "category_id": 9, "bbox": [4, 0, 1, 1], "score": 0.5}])");
    ASSERT_EQ(boxes.boxes.size(), 4U);
    EXPECT_EQ(boxes.boxes[0].x, 2);
    EXPECT_EQ(boxes.boxes[1].x, 3);
    EXPECT_EQ(boxes.boxes[2].x, 1);
    EXPECT_EQ(boxes.boxes[3].x, 4);
    EXPECT_EQ(boxes.least_score, 0.25);
}

TEST_F(Readers, AHundredOfAClassInAPictureAreKept) {
    std::string text = "[";
    for (int i = 0; i < 130; ++i) {
        text += std::string(i == 0 ? "" : ",") + R"({"image_id": 1, "category_id": )" +
                (i % 13 == 0 ? "9" : "3") + R"(, "bbox": [)" + std::to_string(i) +
                R"(, 0, 1, 1], "score": )" + std::to_string(i) + "}";
    }
    const DetectedBoxes boxes = results(text + "]");
    EXPECT_EQ(boxes.total, 130U);
    ASSERT_EQ(boxes.boxes.size(), 110U);
    EXPECT_EQ(boxes.boxes[0].score, 129);
    EXPECT_EQ(boxes.boxes[100].score, 117);
    EXPECT_EQ(boxes.boxes[100].category, 1U);
}

TEST_F(Readers, NoDetectionIsAResult) {
    EXPECT_EQ(results("[]").total, 0U);
}

TEST_F(Readers, BadResultsAreNamed) {
    const std::string good =
        R"({"image_id": 1, "category_id": 3, "bbox": [0, 0, 1, 1], "score": 1})";
    results_fail("[" + good +
                     R"(, {"image_id": 1, "category_id": 3, "bbox": [0, 0, 1, 1], "score": NaN}])",
                 "dt.json: record 1: 'score' is NaN, not a finite number");
    results_fail(R"([{"image_id": 1, "category_id": 3, "bbox": [0, 0, NaN, 1], "score": 0}])",
                 "dt.json: record 0: 'bbox' is NaN, not a finite number");
    results_fail(R"([{"image_id": 1, "category_id": 3, "bbox": [0, 0, 1, 1], "score": -Infinity}])",
                 "dt.json: record 0: 'score' is -Infinity, not a finite number");
    results_fail(R"([{"image_id": 2, "category_id": 3, "bbox": [0, 0, 1, 1], "score": 0}])",
                 "dt.json: record 0: image_id 2 is no image of the annotations");
    results_fail(R"([{"image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1], "score": 0}])",
                 "dt.json: record 0: category_id 1 is no category of the annotations");
    results_fail(R"([{"image_id": 1, "category_id": 3, "bbox": [0, 0, 1, -1], "score": 0}])",
                 "dt.json: record 0: 'bbox' has a negative size");
    results_fail(R"([{"image_id": 1, "category_id": 3, "bbox": [0, 0, 1, 1]}])",
                 "dt.json: record 0: key 'score' is missing");
    results_fail(R"({"image_id": 1})", "dt.json: no whole JSON array");
    for (std::size_t cut = 0; cut < good.size() + 1; ++cut) {
        EXPECT_THROW(results(("[" + good + "]").substr(0, cut)), Error) << cut;
    }
}

TEST_F(Readers, ClassesOfCsv) {
    const ClassPredictions result = classes("sample,dog,cat\nc,0.4,0.6\na,0.5,0.5\nb,1,0\n");
    // the model's order of classes holds; equal scores go to the first
    EXPECT_EQ(result.predicted, (std::vector<std::uint32_t>{0, 0, 1}));
    EXPECT_EQ(result.before, (std::vector<std::uint32_t>{1, 0, 0}));
    EXPECT_TRUE(result.no_calibration.empty());
    EXPECT_EQ(classes("sample,prediction\na,cat\nb,cat\nc,dog\n").predicted,
              (std::vector<std::uint32_t>{0, 0, 1}));
}

TEST_F(Readers, BadClassesAreNamed) {
    classes_fail("sample,dog,cat\na,0.4,nan\n", "pred.csv:2: the score of class 'cat' is 'nan'");
    classes_fail("sample,dog,cat\na,0.4,0.6\na,0.4,0.6\n", "pred.csv:3: sample 'a' stands twice");
    classes_fail("sample,dog,cat\nz,0.4,0.6\n", "pred.csv:2: sample 'z' is not among the labels");
    classes_fail("sample,dog,cat\na,0.4,0.6\nb,0.4,0.6\n",
                 "pred.csv: sample 'c' has no prediction");
    classes_fail("sample,dog,cow\na,0.4,0.6\n",
                 "pred.csv: class 'cat' of the labels is no class of the predictions");
    classes_fail("sample,prediction\na,cow\n", "pred.csv:2: 'cow' is no class of the labels");
    classes_fail("sample,dog,cat\na,1.4,-0.4\n", "pred.csv:2: a score lies outside of [0, 1]",
                 ScoreKind::probability);
    classes_fail("sample,dog,cat\na,0.4,0.4\n", "pred.csv:2: the scores sum up to 0.8, not to 1",
                 ScoreKind::probability);
    classes_fail("sample,dog,cat\na,0.4\n", "pred.csv:2: 2 fields where the header has 3");
    classes_fail("sample,dog,dog\na,0.4,1\n", "pred.csv:1: column 'dog' stands twice");
    classes_fail("sample,\"dog\na,0.4,1\n", "pred.csv:1: a quote is never closed");
    classes_fail("", "pred.csv:1: empty");
    const std::string twice =
        error_of([&] { read_class_labels(file("l.csv", "sample,label\na,x\na,y\n")); });
    EXPECT_EQ(twice.substr(0, 44), "l.csv: record 1: sample 'a' stands twice (fi");
}

TEST_F(Readers, ScoresThatAreNoProbabilitiesHaveNoCalibration) {
    EXPECT_FALSE(classes("sample,dog,cat\na,4,1\nb,3,9\nc,0,1\n").no_calibration.empty());
    const ClassPredictions logits =
        classes("sample,dog,cat\na,4,1\nb,3,9\nc,0,0\n", ScoreKind::logit);
    EXPECT_TRUE(logits.no_calibration.empty());
    EXPECT_NEAR(logits.confidence[2], 0.5, 1e-15);
}

TEST_F(Readers, NpzSidesMustHaveTheSameSamplesAndClasses) {
    const auto numbers = [](Shape shape, std::vector<double> values) {
        Tensor tensor(ElementType::float64, std::move(shape));
        std::copy(values.begin(), values.end(), tensor.mutable_values<double>().begin());
        return tensor;
    };
    const std::string labels_path = folder_.path() + "/labels.npz";
    const std::string path = folder_.path() + "/pred.npz";
    write_npz_file(labels_path, {{"labels", numbers({3}, {0, 1, 1})}});
    const auto fails = [&](const NamedTensors& tensors, const std::string& expected) {
        write_npz_file(path, tensors);
        const std::string line = error_of([&] {
            ClassLabels labels = read_class_labels(labels_path);
            read_class_predictions(path, labels, ScoreKind::any);
        });
        EXPECT_EQ(line.substr(0, expected.size()), expected);
    };
    fails({{"scores", numbers({2, 2}, {1, 0, 0, 1})}}, "pred.npz: 2 predictions for 3 labels");
    fails({{"scores", numbers({3, 1}, {1, 1, 1})}},
          "pred.npz: label 1 of sample 1 is no class of the predictions");
    fails({{"scores", numbers({3, 2}, {1, 0, 0, 1, NAN, 1})}},
          "pred.npz: record 2: the score of class '0' is nan");
    fails({{"predictions", numbers({3}, {0, 1.5, 1})}},
          "pred.npz: record 1: 1.5 is no class number");
    fails({{"other", numbers({3}, {0, 1, 1})}}, "pred.npz");
}

}  // namespace
}  // namespace requal::measure
