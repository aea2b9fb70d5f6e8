// The folder of one run: filled out of sight under <store>/tmp, and in <store>/runs only once it is whole.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/file.h"

namespace requal::qualify {

/// Two runs at once get two folders. A run that is killed leaves only its folder under tmp, which the next run on the same store
/// removes: a lock held by the living process tells it from one that still works.
class RunFolder {
public:
    /// Removes what killed runs left, then makes a new folder. Error(storage).
    RunFolder(const std::string& store, const Clock& clock);
    /// The same for a run that has its id already.
    RunFolder(const std::string& store, const std::string& id);
    ~RunFolder();  ///< removes the folder when it was not committed
    RunFolder(const RunFolder&) = delete;
    RunFolder& operator=(const RunFolder&) = delete;

    const std::string& id() const { return id_; }           ///< "20261130T181136Z-1a2b3c4d"
    const std::string& path() const { return path_; }       ///< where files are to be written now
    std::string final_path() const { return final_path_; }  ///< where they will be
    /// Flushes the folder and moves it to <store>/runs/<id>. Error(storage).
    void commit();

private:
    bool make(const std::string& store, const std::string& id);

    std::string id_;
    std::string path_;
    std::string final_path_;
    std::string lock_path_;
    FileDescriptor lock_;
    bool committed_ = false;
};

/// "20261130T181136Z-1a2b3c4d": UTC time and eight random digits.
std::string new_run_id(const Clock& clock);

/// Folder of the run `name`: an id in `store`, or a path to a run folder or its record. Error(input) when there is none.
std::string find_run(const std::string& store, const std::string& name);

}  // namespace requal::qualify
