//! Examples of sports with bats, hoops, nets and end zones. The comments name the published lines.

use competition::stats::Sport::{
    AmericanFootball, Baseball, Basketball, Cricket, FlagFootball, Netball, RugbyUnion, Softball,
    Ultimate, Volleyball,
};

use crate::examples::{Example, member, team};

pub(crate) const BALL_SPORTS: &[Example] = &[
    // Stephen Curry, NBA 2015-16.
    member(
        Basketball,
        &["GP 79, FGM 805, FGA 1598, 3PM 402, 3PA 886, FTM 363, FTA 400, OREB 68, DREB 362, \
          AST 527, STL 169, BLK 15, TO 262, PF 161, SECONDS 162000"],
        "PTS 2375, FG_PCT 50.4%, 3P_PCT 45.4%, FT_PCT 90.8%, EFG_PCT 63.0%, TS_PCT 66.9%, \
         PPG 30.1, REB 430, RPG 5.4, APG 6.7, SPG 2.1, BPG 0.2, TOPG 3.3, AST_TO 2.01, EFF 2424, \
         MPG 34:11",
    ),
    // The efficiency is 20 + 10 + 10 + 2 + 1 - 6 - 1 - 4 = 32 and the index 32 + 5 - 3 - 1 = 33.
    // The games have 2 and 3 categories of at least 10, and one with 9 rebounds has 1.
    member(
        Basketball,
        &["FGM 8, FGA 14, 3PM 1, 3PA 3, FTM 3, FTA 4, OREB 4, DREB 6, AST 10, STL 2, BLK 1, \
          TO 4, PF 3, BLKA 1, FD 5"],
        "EFF 32, PIR 33, TD 1, DD 1",
    ),
    member(
        Basketball,
        &["FGM 5, DREB 10", "FGM 5, DREB 9", "FGM 5, DREB 5, OREB 5, STL 10"],
        "DD 2, TD 1, PPG 10.0, FG_PCT -",
    ),
    // Babe Ruth, 1921.
    member(
        Baseball,
        &["GP 152, AB 540, R 177, 1B 85, 2B 44, 3B 16, HR 59, RBI 168, BB 145, HBP 4, SAC 4, \
          SO 81, SB 17, CS 13"],
        "H 204, TB 457, XBH 119, AVG .378, OBP .512, SLG .846, OPS 1.359, PA 693, BABIP .363, \
         SB_PCT 56.7%, C_PCT 85.0%, BB_K 1.79, PA_BB 4.78, AB_HR 9.15",
    ),
    // Ty Cobb, 1911. Only the total of his hits matters.
    member(Baseball, &["AB 591, 1B 248"], "AVG .420"),
    member(Baseball, &["AB 20, BB 5, PS 100, QAB 15"], "QAB_PCT 60.0%, PS_PA 4.00, AVG .000"),
    // Pedro Martínez, 2000. The FIP is (13·17 + 3·46 - 2·284) / 217 + 3.1.
    member(
        Baseball,
        &["P_GP 29, OUTS 651, W 18, L 6, P_H 128, P_R 44, ER 42, P_HR 17, P_BB 32, P_SO 284, \
          P_HBP 14, BF 817"],
        "OUTS 217.0, ERA 1.74, WHIP 0.737, K_BB 8.88, K_G 11.78, BB_G 1.33, FIP 2.14, \
         W_PCT 75.0%",
    ),
    // Bob Gibson, 1968: 304 2/3 innings.
    member(
        Baseball,
        &["OUTS 914, W 22, L 9, P_H 198, ER 38, P_BB 62, P_SO 268"],
        "OUTS 304.2, ERA 1.12, WHIP 0.853, W_PCT 71.0%",
    ),
    // 60 of 96 pitches are strikes; 6 hits in 30 - 2 - 1 - 1 - 1 - 1 = 24 at bats.
    member(
        Baseball,
        &["OUTS 18, BF 30, PITCHES 96, STRIKES 60, P_H 6, P_BB 2, P_HBP 1, P_SAC 1, P_SF 1, \
          P_CI 1, SV 3, SVO 4"],
        "STRIKE_PCT 62.5%, P_IP 16.00, P_BF 3.20, BAA .250, SV_PCT 75.0%",
    ),
    member(Baseball, &["PO 100, A 45, E 5, C_SB 6, C_CS 4"], "TC 150, FPCT .967, CS_PCT 40.0%"),
    // 2 earned runs in 7 innings of 7.
    member(Softball, &["OUTS 21, ER 2, P_SO 10, P_BB 3"], "ERA 2.00, K_G 10.00, BB_G 3.00"),
    member(
        Softball,
        &["AB 10, 1B 2, 2B 1, 3B 1, HR 1, BB 2, HBP 1, SF 1, SAC 1, CI 1, SO 2, SB 3, CS 1, \
          PS 64, QAB 8"],
        "PA 16, H 5, TB 11, XBH 3, AVG .500, OBP .571, SLG 1.100, OPS 1.671, BABIP .500, \
         SB_PCT 75.0%, C_PCT 80.0%, QAB_PCT 50.0%, BB_K 1.00, PA_BB 8.00, AB_HR 10.00, PS_PA 4.00",
    ),
    // The FIP is (13·1 + 3·(4 + 0) - 2·8) / 8 + 3.1 = 1.125 + 3.1.
    member(
        Softball,
        &["OUTS 24, W 1, L 1, SV 1, SVO 2, BF 36, PITCHES 120, STRIKES 75, P_H 8, P_HR 1, \
          P_BB 4, P_SO 8"],
        "W_PCT 50.0%, SV_PCT 50.0%, STRIKE_PCT 62.5%, WHIP 1.500, K_BB 2.00, P_IP 15.00, \
         P_BF 3.33, BAA .250, FIP 4.23",
    ),
    member(Softball, &["PO 7, A 2, E 1, C_SB 3, C_CS 1"], "TC 10, FPCT .900, CS_PCT 25.0%"),
    member(
        Volleyball,
        &["SP 4, K 15, E 3, TA 33, AST 2, SA 2, TS 16, DIG 10, BS 1, BA 3, REC 20, RATING 45"],
        "HIT_PCT .364, K_S 3.75, PTS 19.5, PTS_S 4.88, A_S 0.50, ACE_PCT 12.5%, SA_S 0.50, \
         PASS 2.25, D_S 2.50, B 4, B_S 1.00",
    ),
    member(Volleyball, &["SP 3, K 2, E 4, TA 10"], "HIT_PCT -.200, ACE_PCT -"),
    team(Volleyball, &["SP 4, BS 3, BA 10"], "TEAM_B 8.0, TEAM_B_S 2.00"),
    // Peyton Manning, 2004.
    member(
        AmericanFootball,
        &["GP 16, CMP 336, ATT 497, PASS_YDS 4557, PASS_TD 49, PASS_INT 10"],
        "RATING 121.1, CMP_PCT 67.6%, Y_A 9.2, PASS_YDS_GP 284.8",
    ),
    // Aaron Rodgers, 2011, then the highest and the lowest possible rating.
    member(
        AmericanFootball,
        &["CMP 343, ATT 502, PASS_YDS 4643, PASS_TD 45, PASS_INT 6"],
        "RATING 122.5",
    ),
    member(
        AmericanFootball,
        &["CMP 20, ATT 20, PASS_YDS 300, PASS_TD 5, PASS_INT 0"],
        "RATING 158.3",
    ),
    member(AmericanFootball, &["CMP 0, ATT 10, PASS_YDS 0, PASS_TD 0, PASS_INT 10"], "RATING 0.0"),
    // Joe Burrow, 2019.
    member(
        AmericanFootball,
        &["CMP 402, ATT 527, PASS_YDS 5671, PASS_TD 60, PASS_INT 6"],
        "EFF 202.0",
    ),
    // Emmitt Smith and Jerry Rice, 1995.
    member(
        AmericanFootball,
        &["GP 16, CAR 377, RUSH_YDS 1773, RUSH_TD 25"],
        "Y_C 4.7, RUSH_YDS_GP 110.8, PTS 150, TD 25",
    ),
    member(AmericanFootball, &["REC 122, REC_YDS 1848, TGT 176"], "Y_R 15.1, CATCH_PCT 69.3%"),
    member(
        AmericanFootball,
        &["SOLO 5, AST 4, TFL_SOLO 1, TFL_AST 1, SACK_SOLO 1, SACK_AST 3"],
        "TOT 9, TFL 1.5, SACK 2.5",
    ),
    member(
        AmericanFootball,
        &[
            "FGM 2, FGA 3, FG_LNG 41, XPM 3, XPA 3, PUNTS 4, PUNT_YDS 170",
            "FGM 1, FGA 1, FG_LNG 38, XPM 2, XPA 3, 2PT 1",
        ],
        "FG_PCT 75.0%, FG_LNG 41, XP_PCT 83.3%, PUNT_AVG 42.5, PTS 16, PPG 8.0",
    ),
    member(
        AmericanFootball,
        &["KR 4, KR_YDS 91, KR_TD 1, PR 3, PR_YDS 31"],
        "KR_AVG 22.8, PR_AVG 10.3, TD 1",
    ),
    team(
        AmericanFootball,
        &["PASS_YDS 210, RUSH_YDS -5, 3DC 6, 3DA 16, SAF 1"],
        "YDS 205, 3D_PCT 37.5%, PTS 2",
    ),
    member(
        FlagFootball,
        &["CMP 18, ATT 25, PASS_YDS 190, CAR 4, RUSH_YDS 26, RUSH_TD 1, 1PT 2", "REC 1, 2PT 1"],
        "CMP_PCT 72.0%, Y_A 7.6, Y_C 6.5, TD 1, PTS 10, PPG 5.0",
    ),
    member(FlagFootball, &["REC 6, REC_YDS 75, REC_TD 2, DEF_TD 1, SAF 1"], "Y_R 12.5, PTS 20"),
    team(FlagFootball, &["PASS_YDS 190, RUSH_YDS 26"], "YDS 216"),
    // Dan Carter's 1598 points in 112 tests.
    member(RugbyUnion, &["GP 112, T 29, C 293, PG 281, DG 8"], "PTS 1598, PPG 14.3"),
    member(
        RugbyUnion,
        &["C 3, CA 4, PG 2, PGA 4, TK 18, MT 2"],
        "KICK_PCT 62.5%, TK_PCT 90.0%, PTS 12",
    ),
    team(RugbyUnion, &["LW 13, LT 16, SW 6, ST 8"], "LINEOUT_PCT 81.3%, SCRUM_PCT 75.0%"),
    // Donald Bradman's tests.
    member(Cricket, &["GP 52, INN 80, NO 10, R 6996"], "AVG 99.94"),
    member(
        Cricket,
        &["INN 1, R 60, BF 48", "INN 1, NO 1, R 112, BF 95", "INN 1, R 0, BF 2", "CT 1"],
        "AVG 86.00, SR 118.62, HS 112, 50S 1, 100S 1, DUCKS 1",
    ),
    // 19 and 36 balls are 9.1 overs.
    member(
        Cricket,
        &["BALLS 19, RUNS_CONCEDED 20, W 1", "BALLS 36, M 1, RUNS_CONCEDED 24, W 5"],
        "OVERS 9.1, ECON 4.80, BOWL_AVG 7.33, BOWL_SR 9.2, 5W 1",
    ),
    member(Cricket, &["CT 2, ST 1, RO 1"], "DISMISSALS 4"),
    // 250 in 50 overs against 200 in 40 overs and 180 in 30 overs against 181 in 29.
    team(
        Cricket,
        &[
            "RUNS_FOR 250, BALLS_FOR 300, RUNS_AGAINST 200, BALLS_AGAINST 240",
            "RUNS_FOR 180, BALLS_FOR 180, RUNS_AGAINST 181, BALLS_AGAINST 174",
        ],
        "NRR -0.147",
    ),
    member(
        Netball,
        &["G 38, GATT 40, GAST 6, FEED 15, R 3, I 2, D 1, TO 4", "G 12, GATT 20"],
        "G_PCT 83.3%, G_GP 25.0, FEED_PCT 40.0%, GI 56, GAINS 6, GAIN_TO 1.50",
    ),
    team(Netball, &["CP 32, CPC 24"], "CP_PCT 75.0%"),
    member(
        Ultimate,
        &["PP 16, G 3, A 2, D 2, TA 2, DR 1, THROWS 20, COMP 18", "G 2"],
        "TO 3, PLUS_MINUS 6, PM_PP 0.38, COMP_PCT 90.0%, G_GP 2.50",
    ),
    team(
        Ultimate,
        &["O_POINTS 12, HELD 9, D_POINTS 10, BREAKS 3"],
        "HOLD_PCT 75.0%, BREAK_PCT 30.0%",
    ),
];
