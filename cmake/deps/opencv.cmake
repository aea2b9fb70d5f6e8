# OpenCV's core and imgproc, nothing else: imgcodecs alone would bring 139 shared objects. Debian's packages of the two hold no CMake
# files, so they are looked for by name; JetPack's and own builds are found in the usual places or through OpenCV_ROOT.
find_path(REQUAL_OPENCV_INCLUDE opencv2/imgproc.hpp PATH_SUFFIXES opencv4 HINTS "$ENV{OpenCV_ROOT}/include")
find_library(REQUAL_OPENCV_CORE opencv_core HINTS "$ENV{OpenCV_ROOT}/lib")
find_library(REQUAL_OPENCV_IMGPROC opencv_imgproc HINTS "$ENV{OpenCV_ROOT}/lib")
if(NOT REQUAL_OPENCV_INCLUDE OR NOT REQUAL_OPENCV_CORE OR NOT REQUAL_OPENCV_IMGPROC)
  requal_dep_missing(opencv "OpenCV's core and imgproc are not here")
else()
  add_library(requal_opencv INTERFACE IMPORTED GLOBAL)
  target_link_libraries(requal_opencv INTERFACE "${REQUAL_OPENCV_IMGPROC}" "${REQUAL_OPENCV_CORE}")
  target_include_directories(requal_opencv SYSTEM INTERFACE "${REQUAL_OPENCV_INCLUDE}")
endif()
