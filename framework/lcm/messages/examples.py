"""Messages of the acrobot, of planar grippers, and of calls of Python from other programs."""

from merganser.framework.lcm.message import define_messages
from merganser.framework.lcm.messages.signals import lcmt_force_torque

lcmt_acrobot_x, lcmt_acrobot_u, lcmt_acrobot_y, lcmt_call_python_data, lcmt_call_python = define_messages(
    __name__,
    """
    struct lcmt_acrobot_x {
      int64_t timestamp;                // [ms]
      double theta1, theta1Dot, theta2, theta2Dot;
    }
    struct lcmt_acrobot_u {
      int64_t timestamp;
      double tau;
    }
    struct lcmt_acrobot_y {
      int64_t timestamp;
      double theta1, theta2, tau;
    }
    struct lcmt_call_python_data {
      const int8_t REMOTE_VARIABLE_REFERENCE = 0, DOUBLE = 1, CHAR = 2, LOGICAL = 3, INT = 4;
      const int8_t MATRIX = 0, VECTOR = 1, SCALAR = 2;
      int8_t data_type;
      int8_t shape_type;
      int32_t rows;
      int32_t cols;
      int32_t num_bytes;
      byte data[num_bytes];
    }
    struct lcmt_call_python {
      string function_name;
      int64_t lhs;
      int32_t num_rhs;
      lcmt_call_python_data rhs[num_rhs];
    }
    """,
)

(
    lcmt_planar_plant_state,
    lcmt_planar_manipuland_status,
    lcmt_planar_gripper_finger_command,
    lcmt_planar_gripper_command,
    lcmt_planar_gripper_finger_status,
    lcmt_planar_gripper_status,
    lcmt_planar_gripper_finger_face_assignment,
    lcmt_planar_gripper_finger_face_assignments,
) = define_messages(
    __name__,
    """
    struct lcmt_planar_plant_state {
      int64_t utime;
      int32_t num_states;
      double plant_state[num_states];
    }
    struct lcmt_planar_manipuland_status {
      int64_t utime;
      double position[2];               // [m]
      double theta;                     // [rad]
      double velocity[2];
      double thetadot;
    }
    struct lcmt_planar_gripper_finger_command {
      double joint_position[2];
      double joint_velocity[2];
      double joint_torque[2];
    }
    struct lcmt_planar_gripper_command {
      int64_t utime;
      int8_t num_fingers;
      lcmt_planar_gripper_finger_command finger_command[num_fingers];
    }
    struct lcmt_planar_gripper_finger_status {
      double joint_position[2];
      double joint_velocity[2];
      lcmt_force_torque fingertip_force;
    }
    struct lcmt_planar_gripper_status {
      int64_t utime;
      int8_t num_fingers;
      lcmt_planar_gripper_finger_status finger_status[num_fingers];
    }
    struct lcmt_planar_gripper_finger_face_assignment {
      int64_t utime;
      string finger_name;
      string brick_face_name;
      double p_BoBq_B[2];               // [m]
      boolean is_in_contact;
    }
    struct lcmt_planar_gripper_finger_face_assignments {
      int64_t utime;
      int32_t num_fingers;
      lcmt_planar_gripper_finger_face_assignment finger_face_assignments[num_fingers];
    }
    """,
    lcmt_force_torque,
)
